// RSS over sessions with the line through it, and below it what the line leaves over.
const { html, svg, whole, tenth, marks, table, command, quoted, option, onWidth, unitOf, ticks, plural } = report.charts;
const element = (id) => document.getElementById(`residuals-${id}`);
const COLOURS = 7;
const MARGIN = { left: 62, right: 14 };
const [UPPER, GAP, LOWER, BELOW] = [270, 54, 130, 44];
const SHAPES = ["M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0", "M-4,-4h8v8h-8z", "M0,-5l5,5l-5,5l-5,-5z", "M0,-5l5,9h-10z", "M0,5l5,-9h-10z", "M-1.6,-5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z", "M-5,-3h10v6h-10z"];
const state = { recording: "", suite: "", name: "", quantity: "", stacks: null, table: false };
let groups, quantities; // what was packed

const distinct = (found) => [...new Set(found)];
const here = () => groups.filter((one) => one.recording === state.recording);
const group = () => here().find((one) => one.suite === state.suite && one.name === state.name);
const chosen = () => group().lines.filter((line) => state.stacks.includes(line.stack));
const lookOf = (line) => {
  const at = group().lines.indexOf(line);
  return { colour: `var(--line-${at % COLOURS})`, shape: SHAPES[at % SHAPES.length] };
};
const mib = (bytes) => `${(bytes / 2 ** 20).toLocaleString("en", { maximumFractionDigits: 2 })} MiB`;
const off = (fit, [n], value) => value - (fit.intercept + fit.slope * n);
const offSaid = (bytes) => (Math.round(bytes) === 0 ? "on the line" : `${whole(Math.abs(bytes))} bytes ${bytes > 0 ? "more" : "less"} than the line`);

// Every run of a line: N, bytes, which repeat, and how far off.
function runs(line) {
  const fit = line.fits[state.quantity];
  return (fit?.points ?? []).flatMap((point) =>
    point.slice(1).map((value, at) => ({ line, n: point[0], value, repeat: point.length > 2 ? ` repeat ${at + 1}` : "", off: fit.slope === undefined ? null : off(fit, point, value) })),
  );
}

const dot = (line, x, y) => svg("path", { d: lookOf(line).shape, transform: `translate(${x},${y})`, fill: lookOf(line).colour, class: "residuals-dot" });

function axes(width, scale, low, high, top, bottom, title) {
  const [unit, size] = unitOf(Math.max(Math.abs(low), Math.abs(high)));
  const lines = ticks(low, high, size, Math.min(6, (bottom - top) / 26)).flatMap((tick) => [
    svg("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: scale(tick), y2: scale(tick), class: tick ? "charts-grid" : "charts-zero" }),
    svg("text", { x: MARGIN.left - 6, y: scale(tick) + 4, class: "charts-axis", "text-anchor": "end" }, (tick / size).toLocaleString("en", { maximumFractionDigits: 2 }).replace("-", "−")),
  ]);
  return [svg("text", { x: 0, y: top - 12, class: "charts-axis" }, `${title}, ${unit}`), ...lines];
}

function draw(host) {
  const width = Math.max(280, host.clientWidth);
  const found = chosen().flatMap(runs).sort((a, b) => a.n - b.n);
  if (!found.length) return host.replaceChildren(html("p", {}, "No stack is chosen that has RSS runs here."));
  const fits = chosen().map((line) => line.fits[state.quantity]).filter((fit) => fit?.slope !== undefined);
  const [mostN, most] = [Math.max(...found.map((one) => one.n)), Math.max(...found.map((one) => one.value)) * 1.08];
  const far = Math.max(...found.map((one) => Math.abs(one.off ?? 0)), 1) * 1.15;
  const x = (n) => MARGIN.left + ((width - MARGIN.left - MARGIN.right - 8) * n) / mostN;
  const [top, zero] = [26, 26 + UPPER];
  const y = (bytes) => zero - (UPPER * bytes) / most;
  const middle = zero + GAP + LOWER / 2;
  const low = (bytes) => middle - ((LOWER / 2) * bytes) / far;
  const height = (fits.length ? zero + GAP + LOWER : zero) + BELOW;
  const shown = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `RSS, ${state.quantity}, over sessions: ${state.suite}, ${state.name}` });
  const frame = svg("g", { "aria-hidden": "true" }, ...axes(width, y, 0, most, top, zero, `RSS, ${state.quantity}`));
  if (fits.length) frame.append(...axes(width, low, -far, far, zero + GAP, zero + GAP + LOWER, "more or less than the line"));
  const bottom = height - BELOW;
  for (const n of ticks(0, mostN, 1, Math.min(8, width / 90))) frame.append(svg("text", { x: x(n), y: bottom + 16, class: "charts-axis", "text-anchor": "middle" }, whole(n)));
  frame.append(svg("text", { x: width - MARGIN.right, y: bottom + 34, class: "charts-axis", "text-anchor": "end" }, `sessions in the process (${state.name})`));
  const labels = [];
  for (const line of chosen()) {
    const fit = line.fits[state.quantity];
    if (fit?.slope === undefined) continue;
    const end = Math.max(...fit.points.map(([n]) => n));
    frame.append(svg("line", { x1: x(0), y1: y(fit.intercept), x2: x(end), y2: y(fit.intercept + fit.slope * end), stroke: lookOf(line).colour, class: "residuals-line" }));
    labels.push({ y: y(fit.intercept + fit.slope * end) - 8, text: `${line.stack}: ${whole(fit.slope)} B per session`, line });
  }
  for (const one of spread(labels)) frame.append(svg("text", { x: width - MARGIN.right - 14, y: one.y, "text-anchor": "end", class: "residuals-label", fill: lookOf(one.line).colour }, one.text));
  const points = found.map((one, at) => mark(one, at, x, y, low));
  shown.append(frame, svg("g", { role: "list", "aria-label": "runs" }, ...points));
  marks(points, (at) => said(found[at]));
  host.replaceChildren(shown);
}

// Labels at the ends of lines, apart.
function spread(labels) {
  labels.sort((a, b) => b.y - a.y);
  labels.forEach((one, at) => at && (one.y = Math.min(one.y, labels[at - 1].y - 15)));
  return labels.map((one) => ({ ...one, y: Math.max(12, one.y) }));
}

function mark(one, at, x, y, low) {
  const text = said(one).flat().join(". ");
  const there = [svg("g", { "data-spot": true }, svg("circle", { cx: x(one.n), cy: y(one.value), r: 9, class: "residuals-ring" }), dot(one.line, x(one.n), y(one.value)))];
  if (one.off !== null) there.push(svg("line", { x1: x(one.n), x2: x(one.n), y1: low(0), y2: low(one.off), stroke: lookOf(one.line).colour }), svg("circle", { cx: x(one.n), cy: low(one.off), r: 9, class: "residuals-ring" }), dot(one.line, x(one.n), low(one.off)));
  return svg("g", { role: "listitem", class: "residuals-mark", tabindex: at ? -1 : 0, "aria-label": text, "data-stack": one.line.stack, "data-bytes": one.value }, ...there);
}

function said(one) {
  const lines = [`${whole(one.value)} bytes (${mib(one.value)})${one.repeat ? `,${one.repeat}` : ""}`];
  if (one.off !== null) lines.push(offSaid(one.off));
  return [`${one.line.stack}, N = ${whole(one.n)}`, lines];
}

function asTable() {
  const rows = chosen().flatMap(runs).map((one) => [one.line.stack, whole(one.n), one.repeat.replace(" repeat ", "") || "1", whole(one.value), one.off === null ? "no line" : offSaid(one.off)]);
  return table(`RSS, ${state.quantity}: ${state.suite}, ${state.name}`, ["stack", "sessions", "repeat", "bytes", "off the line"], rows);
}

function words() {
  const found = chosen().map((line) => {
    const swatch = svg("svg", { width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true" }, svg("path", { d: lookOf(line).shape, fill: lookOf(line).colour }));
    return html("li", {}, swatch, html("b", {}, line.stack), `: ${line.fits[state.quantity]?.said ?? (line.why || "without its peer a session exchanges no payload")}.`);
  });
  element("words").replaceChildren(...found);
}

function select(name, values, said = (value) => value) {
  const made = element(name);
  if (!values.includes(state[name])) state[name] = values[0];
  made.replaceChildren(...values.map((value) => option(value, said(value), value === state[name])));
  made.onchange = () => change({ [name]: made.value });
  return made;
}

function stacks() {
  const known = group().lines.map((line) => line.stack);
  const kept = (state.stacks ?? []).filter((stack) => known.includes(stack));
  state.stacks = kept.length ? kept : [...group().opens];
  const boxes = group().lines.map((line) => {
    const box = Object.assign(html("input", { type: "checkbox", value: line.stack }), { checked: state.stacks.includes(line.stack) });
    box.onchange = () => {
      state.stacks = box.checked ? [...state.stacks, line.stack] : state.stacks.filter((stack) => stack !== line.stack);
      show();
    };
    return html("label", {}, box, line.stack);
  });
  element("stacks").replaceChildren(html("legend", {}, "stacks"), ...boxes);
}

function show() {
  const host = element("chart");
  const inner = html("div");
  element("as-table").setAttribute("aria-pressed", String(state.table));
  element("as-table").textContent = state.table ? "show as chart" : "show as table";
  const measured = chosen().filter((line) => Object.keys(line.fits).length);
  const redraw = command(`${group().command} ${measured.map((line) => `--stack ${quoted(line.stack)}`).join(" ")}`);
  host.replaceChildren(state.table ? asTable() : inner, ...(measured.length ? [redraw] : []));
  if (!state.table) onWidth(inner, () => draw(inner));
  words();
  keepAddress();
}

// The address says what is chosen, once anything was.
let kept = false;
const keepAddress = () => kept && report.address("residuals", { ...state, stacks: state.stacks.join(" "), table: state.table ? 1 : "" });

function change(what) {
  Object.assign(state, what);
  element("recording").closest("label").hidden = distinct(groups.map((one) => one.recording)).length < 2;
  select("recording", distinct(groups.map((one) => one.recording)));
  select("suite", distinct(here().map((one) => one.suite)));
  const names = here().filter((one) => one.suite === state.suite).map((one) => one.name);
  element("setting").onchange = () => change({ name: element("setting").value });
  if (!names.includes(state.name)) state.name = names[0];
  element("setting").replaceChildren(...names.map((name) => option(name, name, name === state.name)));
  select("quantity", quantities.filter((one) => group().lines.some((line) => line.fits[one])));
  stacks();
  show();
}

report.near(report.section("residuals"), () => report.unpacked("residuals").then((found) => {
  ({ groups, quantities } = found);
  element("as-table").addEventListener("click", () => change({ table: !state.table }));
  const opened = groups[found.opens];
  change({ recording: opened.recording, suite: opened.suite, name: opened.name });
  report.choosable("residuals", ({ recording = "", suite, name, quantity, stacks, table }) => {
    if (groups.some((one) => one.recording === recording && one.suite === suite && one.name === name)) change({ recording, suite, name, quantity, stacks: stacks?.split(" ") ?? null, table: table === "1" });
  });
  kept = true;
}));
