// What is chosen, and two stacks beside each other.
const state = { suite: "", role: "client", rss: "", table: false, stacks: [], chosen: null, focus: null }; // chosen, focus: { panel, phase }
const flameState = { search: "", inverted: false, against: false, peak: false, frame: [] }; // peak: of one session alone
const keyOf = (entry) => `${entry.recording} ${entry.stack}`;
const entryOf = (key) => known.entries.find((one) => keyOf(one) === key && one.suite === state.suite);
const several = () => known.recordings.length > 1;

const titleOf = (key) => {
  const [recording, stack] = [Number(key.split(" ", 1)[0]), key.slice(key.indexOf(" ") + 1)];
  return several() ? `${stack} (${known.recordings[recording].name})` : stack;
};

function stackSelect(panel) {
  const groups = known.recordings.map((recording, at) => {
    const keys = [...new Set(known.entries.filter((one) => one.recording === at).map(keyOf))];
    const label = recording.machine ? `${recording.name}, machine ${recording.machine}` : recording.name;
    return keys.length ? html("optgroup", { label }, ...keys.map((key) => option(key, key.slice(key.indexOf(" ") + 1), key === state.stacks[panel]))) : null;
  });
  const made = html("select", { "aria-label": `stack of the ${panel ? "second" : "first"} chart` }, ...groups);
  made.addEventListener("change", () => {
    flameState.frame = [];
    change({ stacks: state.stacks.with(panel, made.value) }, panel);
  });
  return made;
}

function open(panel, at) {
  const entry = entryOf(state.stacks[panel]);
  const phase = entry.phases[at];
  const again = state.chosen?.panel === panel && state.chosen.phase === phase;
  if (state.chosen?.panel !== panel) flameState.frame = [];
  change({ chosen: again ? null : { panel, phase } });
  if (again) return;
  state.focus = null;
  report.say(`The flamegraph and the buckets of ${titleOf(state.stacks[panel])}, ${readable(phase)}, are below the charts.`);
  element("phases-details").focus({ preventScroll: true });
  element("phases-details").scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
}

const shut = () => change({ focus: state.chosen, chosen: null });

// The same numbers as the chart.
function asTable(entry, key) {
  const of = entry.roles[state.role];
  const there = known.buckets.filter((look) => entry.phases.some((_, at) => buckets(entry, state.role, at)?.some((one) => one.look === look && one.bytes)));
  const singles = entry.phases.some((_, at) => alone(entry, state.role, at));
  const exact = (at, kind, one) => (of?.[kind]?.[at] ? quotient(of[kind][at][one], of.sessions) : "–");
  const rows = entry.phases.map((phase, at) => {
    const parts = buckets(entry, state.role, at) ?? [];
    const sizes = there.map((look) => whole(parts.find((one) => one.look === look)?.bytes ?? 0));
    const rss = of?.rss[state.rss]?.bytes?.[at];
    const single = singles ? [alone(entry, state.role, at) ? whole(alone(entry, state.role, at).bytes) : "–"] : [];
    return [readable(phase), exact(at, "live", 0), exact(at, "live", 1), exact(at, "peak", 0), exact(at, "peak", 1), ...single, ...sizes, ...(state.rss ? [rss === null || rss === undefined ? "–" : whole(rss)] : [])];
  });
  const headings = ["phase", "live bytes", "blocks", "peak bytes, one more of many", "blocks then", ...(singles ? ["peak bytes, one session alone"] : []), ...there.map((look) => look.bucket), ...(state.rss ? [`RSS, ${state.rss}`] : [])];
  return table(`${titleOf(key)}, ${state.suite}: live heap per ${sessionOf(state.role)} by phase`, headings, rows);
}

// With call stacks a picture of buckets, without them memory by phase alone.
function drawnBy(entry) {
  const picture = entry.pair_of ? "parts" : "mem";
  return `tools/tls-memtest show ${picture} ${known.recordings[entry.recording].path} -o phases --suite ${quoted(entry.suite)} --stack ${quoted(entry.stack)}`;
}

function panel(number, most) {
  const [key, host] = [state.stacks[number], html("div", { class: "phases-chart" })];
  const entry = entryOf(key);
  const made = html("figure", { class: "phases-panel", "data-stack": key }, html("label", { class: "charts-choice" }, stackSelect(number)));
  if (!entry) return made.append(html("p", { class: "phases-none" }, `${titleOf(key)}: ${state.suite} was not measured in a way that this chart could show.`)), made;
  const of = entry.roles[state.role];
  if (!of?.live) made.append(html("p", { class: "phases-none" }, `Live heap is not known: ${of?.why ?? "both ends never were in one process"}.`));
  const at = state.chosen?.panel === number ? entry.phases.indexOf(state.chosen.phase) : -1;
  const own = highest(entry, state.role, state.rss);
  const shown = { role: state.role, rss: state.rss, at: at < 0 ? null : at, most: element("phases-scale").checked ? most : own, title: `${titleOf(key)}, ${state.suite}, ${sessionOf(state.role)}` };
  if (!own) return made; // the reason stands there
  if (state.table) made.append(asTable(entry, key));
  else onWidth(made.appendChild(host), () => drawn(host, entry, shown, number));
  made.append(html("figcaption", {}, madeOf(entry, state.role, state.rss)), command(drawnBy(entry)));
  return made;
}

// Marks are other elements now: what had the focus has it again.
function drawn(host, entry, shown, number) {
  const had = host.querySelector(":focus")?.dataset.phase;
  chart(host, entry, shown, (chosen) => open(number, chosen));
  const phase = state.focus?.panel === number ? state.focus.phase : had;
  if (phase) host.querySelector(`[data-phase="${CSS.escape(phase)}"]`)?.focus();
  if (state.focus?.panel === number) state.focus = null;
}

function legend(shown) {
  const there = known.buckets.filter((look) => shown.some((entry) => entry.phases.some((_, at) => buckets(entry, state.role, at)?.some((one) => one.look === look && one.bytes > 0))));
  const swatch = (child) => svg("svg", { width: 16, height: 14, "aria-hidden": "true" }, child);
  const found = there.map((look) => html("li", { title: look.means }, swatch(svg("rect", { width: 16, height: 14, fill: fillOf(look), stroke: "var(--line)" })), look.bucket));
  if (shown.some((entry) => entry.roles[state.role]?.live && !buckets(entry, state.role, 0))) found.push(html("li", {}, swatch(svg("rect", { width: 16, height: 14, class: "phases-whole" })), "live heap, not told apart"));
  found.push(html("li", {}, swatch(svg("path", { d: "M8,14 V2 M2,2 H14", class: "phases-peak" })), "peak within the phase, one more of many"));
  if (shown.some((entry) => entry.phases.some((_, at) => alone(entry, state.role, at)))) found.push(html("li", {}, swatch(diamond(8, 7)), "peak within the phase, one session alone"));
  if (state.rss) found.push(html("li", {}, swatch(svg("g", { class: "phases-rss" }, svg("path", { d: "M0,7 H16" }), svg("circle", { cx: 8, cy: 7, r: 3.2 }))), `RSS, ${state.rss}`));
  element("phases-legend").replaceChildren(...found);
}

function chooseRole(role) {
  flameState.frame = [];
  change({ role });
}

function controls() {
  const suites = [...new Set(known.entries.map((one) => one.suite))];
  element("phases-suite").replaceChildren(...suites.map((suite) => option(suite, suite, suite === state.suite)));
  const shown = state.stacks.map(entryOf).filter(Boolean);
  const roles = ROLES.filter((role) => known.entries.some((one) => one.suite === state.suite && one.roles[role]));
  const pressed = (role) => Object.assign(html("button", { type: "button", "aria-pressed": String(role === state.role) }, role), { onclick: () => chooseRole(role) });
  const focused = element("phases-role").contains(document.activeElement);
  element("phases-role").replaceChildren(...roles.map(pressed));
  if (focused) element("phases-role").querySelector("[aria-pressed=true]")?.focus();
  const lines = [...new Set(shown.flatMap((entry) => Object.keys(entry.roles[state.role]?.rss ?? {})))];
  if (!lines.includes(state.rss)) state.rss = "";
  element("phases-rss").replaceChildren(option("", "none", !state.rss), ...lines.map((one) => option(one, one, one === state.rss)));
  element("phases-as-table").setAttribute("aria-pressed", String(state.table));
  element("phases-as-table").textContent = state.table ? "show as charts" : "show as table";
  return shown;
}

// `select`: the panel whose select was used, which is another element now, and has the focus again.
function change(what, select = -1) {
  const [used, before] = [document.activeElement, element("phases-panels")];
  const at = [...before.children].findIndex((one) => one.contains(used));
  const phase = used?.closest?.("[data-phase]")?.dataset.phase;
  if (phase && at >= 0) state.focus = { panel: at, phase };
  Object.assign(state, what);
  element("phases-unknown").textContent = "";
  const shown = controls();
  const most = Math.max(0, ...shown.map((entry) => highest(entry, state.role, state.rss)));
  hideTip();
  legend(shown);
  before.replaceChildren(...state.stacks.map((_, number) => panel(number, most)));
  keepAddress();
  if (select >= 0) before.children[select].querySelector("select").focus();
  showDetails();
}

// The address says what is chosen, once anything was; and what an address says is chosen.
let opened = false;

function keepAddress() {
  if (!opened) return;
  const { suite, role, rss, table, stacks, chosen } = state;
  const { search, frame } = flameState;
  const flags = { table: table ? 1 : "", inverted: flameState.inverted ? 1 : "", against: flameState.against ? 1 : "", peak: flameState.peak ? 1 : "" };
  const [[a, from], [b, beside]] = stacks.map(namesOf);
  report.address("phases", { suite, role, rss, a, from, b, beside, panel: chosen?.panel, phase: chosen?.phase, q: search, frame: flames.writeLink(frame), ...flags });
}

// A link names a stack; and, where several recordings of the page have it, the recording, without its date if that is
// enough: so it leads to the same in the page of newer recordings.
const dateless = (name) => name.replace(/^\d{4}-\d\d-\d\d-/, "");
const nameOf = (key) => key.slice(key.indexOf(" ") + 1);
const recordingOf = (key) => known.recordings[Number(key.split(" ", 1)[0])].name;
const keysOf = (stack) => [...new Set(known.entries.map(keyOf))].filter((key) => nameOf(key) === stack);

function namesOf(key) {
  const others = keysOf(nameOf(key)).map(recordingOf);
  const short = dateless(recordingOf(key));
  return [nameOf(key), others.length < 2 ? "" : others.filter((name) => dateless(name) === short).length > 1 ? recordingOf(key) : short];
}

// The stack that a link names, of the recording that it names or of the first that has it in this suite; a release of the
// same library where the page does not have this one. Null: the page has none.
function keyNamed(stack, recording, suite) {
  const measured = (keys) => keys.toSorted((a, b) => hasSuite(b, suite) - hasSuite(a, suite));
  const keys = keysOf(stack);
  const library = stack.split("@")[0];
  const releases = [...new Set(known.entries.map((one) => one.stack))].filter((one) => one.split("@")[0] === library);
  releases.sort((one, other) => other.localeCompare(one, "en", { numeric: true }));
  return keys.find((key) => recordingOf(key) === recording) ?? measured(keys.filter((key) => dateless(recordingOf(key)) === recording))[0] ?? measured(keys)[0] ?? releases.map((one) => measured(keysOf(one))[0])[0] ?? null;
}

const hasSuite = (key, suite) => known.entries.some((one) => keyOf(one) === key && one.suite === suite);

function choose(asked) {
  const unknown = [];
  const suite = known.entries.some((one) => one.suite === asked.suite) ? asked.suite : state.suite;
  if (asked.suite && suite !== asked.suite) unknown.push(`the suite ${asked.suite}: shown is ${suite}`);
  const asks = [[asked.a, asked.from], [asked.b, asked.beside]];
  const stacks = state.stacks.map((shown, at) => {
    const stack = asks[at]?.[0]?.replace(/^\d+ /, ""); // links once began with a recording's number
    if (!stack) return shown;
    const key = keyNamed(stack, asks[at][1], suite);
    if (!key || nameOf(key) !== stack) unknown.push(`the stack ${stack}: shown is ${nameOf(key ?? shown)}`);
    return key ?? shown;
  });
  const entry = asked.phase && stacks[Number(asked.panel)] ? known.entries.find((one) => keyOf(one) === stacks[Number(asked.panel)] && one.suite === suite) : null;
  if (entry && !entry.phases.includes(asked.phase)) unknown.push(`the phase ${readable(asked.phase)} of ${entry.stack}`);
  if (asked.phase && stacks[Number(asked.panel)] && !entry) unknown.push(`${nameOf(stacks[Number(asked.panel)])} in ${suite}`);
  const chosen = entry ? { panel: Number(asked.panel), phase: asked.phase } : null;
  Object.assign(flameState, { search: asked.q ?? "", inverted: asked.inverted === "1", against: asked.against === "1", peak: asked.peak === "1", frame: flames.readLink(asked.frame) });
  change({ suite, stacks, chosen, role: ROLES.includes(asked.role) ? asked.role : state.role, rss: asked.rss ?? "", table: asked.table === "1" });
  element("phases-unknown").textContent = unknown.length ? `This page does not have what the link names: ${unknown.join("; ")}.` : "";
}

function showDetails() {
  const host = element("phases-details");
  const entry = state.chosen && entryOf(state.stacks[state.chosen.panel]);
  const at = entry ? entry.phases.indexOf(state.chosen.phase) : -1;
  host.hidden = at < 0;
  if (at < 0) return void host.replaceChildren();
  const other = entryOf(state.stacks[1 - state.chosen.panel]);
  details(host, entry, { role: state.role, rss: state.rss, at }, other === entry ? null : other, shut);
}

report.near(report.section("phases"), () => report.unpacked("phases").then((found) => {
  known = found;
  const shown = known.opens.map((at) => known.entries[at]);
  report.section("phases").append(patterns());
  element("phases-suite").addEventListener("change", (event) => change({ suite: event.target.value }));
  element("phases-rss").addEventListener("change", (event) => change({ rss: event.target.value }));
  element("phases-scale").addEventListener("change", () => change({}));
  element("phases-as-table").addEventListener("click", () => change({ table: !state.table }));
  change({ suite: shown[0].suite, stacks: shown.map(keyOf) });
  report.choosable("phases", choose);
  opened = true;
}));
