// Of each stack and allocator four bars: requested, usable, held, resident; all on one scale.
const { html, svg, whole, marks, option, onWidth } = report.charts;
const element = (id) => document.getElementById(`waterfall-${id}`);
const [ROW, BAR, SIDE] = [40, 15, 78]; // heights of a stage and of its bar; room for the stage's name
const state = { recording: "", suite: "", setting: "", stack: "" };
let rows, stages, between; // what was packed
const EVERY = "all";

const distinct = (found) => [...new Set(found)];
const here = (...keys) => rows.filter((row) => keys.every((key) => of(row, key) === state[key]));
const of = (row, key) => row[key] ?? row.names[key];

// What a step adds or takes, in words.
function step(row, at) {
  const last = row.steps.slice(0, at).findLast((one) => one !== null);
  const adds = row.steps[at] !== null && row.steps[at - 1] !== null && last !== undefined ? row.steps[at] - last : null;
  if (adds === null || at === 0) return "";
  return Math.round(adds) === 0 ? `as much: no ${between[at - 1]}` : `${whole(Math.abs(adds))} ${adds > 0 ? "more" : "less"}: ${between[at - 1]}`;
}

function lines(row, at) {
  const [, , means] = stages[at];
  const known = row.steps[at] !== null;
  return [known ? `${whole(row.steps[at])} bytes per ${row.unit}` : `not known: ${row.whys[at]}`, step(row, at), means];
}

const shortened = (text, wide) => (text.length * 5.6 > wide ? `${text.slice(0, Math.max(8, wide / 5.6 - 1))}…` : text);

function bars(row, at, x, width) {
  const [now, before] = [row.steps[at], at ? row.steps[at - 1] : null];
  const [top, left] = [at * ROW + 4, x(0)];
  if (now === null) return [svg("text", { x: left, y: top + 12, class: "waterfall-why" }, shortened(`not known: ${row.whys[at]}`, width - left))];
  const shared = before === null ? now : Math.max(0, Math.min(now, before));
  const parts = [svg("rect", { x: left, y: top, width: Math.max(0, x(shared) - left), height: BAR, class: "waterfall-bar" })];
  if (before !== null && now > before) parts.push(svg("rect", { x: x(before), y: top, width: x(now) - x(before), height: BAR, class: "waterfall-striped" }), svg("path", { d: stripes(x(before), x(now), top), class: "waterfall-more" }));
  if (before !== null && now < before) parts.push(svg("rect", { x: x(now), y: top + 0.5, width: x(before) - x(now), height: BAR - 1, class: "waterfall-less" }));
  const value = svg("text", { x: left, y: top + BAR + 13 }, svg("tspan", { class: "waterfall-value" }, whole(now)), svg("tspan", { class: "waterfall-step" }, step(row, at) && ` · ${step(row, at)}`));
  return [...parts, value];
}

// Upright lines, which say "added" without a colour.
function stripes(from, to, top) {
  const count = Math.max(1, Math.floor((to - from) / 4));
  return Array.from({ length: count }, (_, at) => `M${from + ((at + 0.5) * (to - from)) / count},${top} v${BAR}`).join(" ");
}

function draw(host, row, most) {
  const width = Math.max(240, host.clientWidth);
  const x = (bytes) => SIDE + (Math.max(0, bytes) / most) * (width - SIDE - 4);
  const found = stages.map(([key, name], at) => {
    const label = [name, ...lines(row, at).filter(Boolean)].join(". ");
    const area = svg("rect", { x: 0.5, y: at * ROW, width: width - 1, height: ROW - 2, rx: 4, class: "waterfall-area" });
    const named = svg("text", { x: 2, y: at * ROW + 4 + 12, class: "waterfall-stage" }, name.replace(" from the OS", ""));
    return svg("g", { role: "listitem", tabindex: at ? -1 : 0, class: "waterfall-mark", "aria-label": label, "data-stage": key, "data-bytes": row.steps[at] }, area, named, ...bars(row, at, x, width));
  });
  const title = `${titleOf(row)}: bytes per ${row.unit}`;
  const shown = svg("svg", { width, height: stages.length * ROW, viewBox: `0 0 ${width} ${stages.length * ROW}`, role: "list", "aria-label": title }, ...found);
  marks(found, (at) => [stages[at][1], lines(row, at)]);
  host.replaceChildren(shown);
}

const titleOf = (row) => `${row.names.stack}, ${row.names.books}`;

function card(row, most) {
  const host = html("div");
  onWidth(host, () => draw(host, row, most));
  return html("div", { class: "waterfall-card" }, html("h3", {}, row.names.stack, " ", html("small", {}, `on ${row.names.books}, per ${row.unit}`)), host);
}

function select(name, values) {
  const made = element(name);
  if (!values.includes(state[name])) state[name] = values[0];
  made.replaceChildren(...values.map((value) => option(value, value, value === state[name])));
  made.onchange = () => change({ [name]: made.value });
  made.closest("label").hidden = values.length < 2;
}

// The address says what is chosen, once anything was.
let kept = false;

function change(what) {
  Object.assign(state, what);
  select("recording", distinct(rows.map((row) => row.recording)));
  select("suite", distinct(here("recording").map((row) => row.names.suite)));
  select("setting", distinct(here("recording", "suite").map((row) => row.setting)));
  const found = here("recording", "suite", "setting");
  select("stack", [EVERY, ...distinct(found.map((row) => row.names.stack))]);
  const shown = found.filter((row) => [EVERY, row.names.stack].includes(state.stack));
  const most = Math.max(1, ...found.flatMap((row) => row.steps.map((one) => one ?? 0)));
  const stacks = distinct(shown.map((row) => row.names.stack)); // allocators of one stack beside each other
  shown.sort((a, b) => stacks.indexOf(a.names.stack) - stacks.indexOf(b.names.stack));
  element("cards").replaceChildren(...shown.map((row) => card(row, most)));
  if (kept) report.address("waterfall", state);
}

report.near(report.section("waterfall"), () => report.unpacked("waterfall").then((found) => {
  ({ rows, stages, between } = found);
  const opened = rows[found.opens];
  change({ recording: opened.recording, suite: opened.names.suite, setting: opened.setting, stack: EVERY });
  report.choosable("waterfall", ({ recording = "", suite, setting, stack }) => change({ recording, suite, setting, stack }));
  kept = true;
}));
