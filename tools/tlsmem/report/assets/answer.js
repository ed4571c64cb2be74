// The chooser: one session of one stack, its cost and what it is for, and the newest release of every library beside it.
const { html, whole, command, option } = report.charts;
const element = (id) => document.getElementById(`answer-${id}`);
const GIB = 2 ** 30;
const state = { role: "server", state: "use", connections: element("connections").value };
let stacks, suites, states, rows, unrecorded, usual, buckets; // what was packed

const stackOf = (name) => stacks.find((one) => one.stack === name);
const titleOf = ({ library, release }) => `${library.replace(/ \(.*/, "")} ${release}${library.match(/ \(.*/)?.[0] ?? ""}`;
const rowOf = (stack) => rows.find((row) => row.stack === stack && row.suite === state.suite && row.role === state.role);
const newestOf = (library) => (stacks.find((one) => one.library === library && one.stable) ?? stacks.find((one) => one.library === library)).stack;
const distinct = (found) => [...new Set(found)];
const isRecorded = (stack, suite) => !unrecorded[stack]?.[suite];
const rssName = () => `RSS ${states[state.state].name}`;
const liveName = () => `live heap ${states[state.state].name}`;

// Live heap by bucket as far as call stacks are recorded, and what RSS has beyond it, or lacks of it.
function partsOf(figures) {
  const { live, rss } = figures;
  if (live.bytes === undefined) return [];
  const split = figures.parts.map(([name, bytes]) => ({ name, bytes, ...buckets[name] }));
  const rest = live.bytes - figures.parts.reduce((sum, [, bytes]) => sum + bytes, 0);
  const unsplit = { name: split.length ? "not in the call stacks" : "live heap", bytes: rest, colour: split.length ? "#8d99a6" : stackOf(state.stack).colour, means: split.length ? "differs between sessions: signatures, tables that grow" : "not split into parts: call stacks are not recorded" };
  const parts = rest > 0.5 ? [...split, unsplit] : split;
  if (rss.bytes === undefined) return parts;
  const more = rss.bytes - live.bytes;
  const about = more > 0 ? { name: "allocator overhead", means: "RSS beyond live heap: rounding, headers, free memory between blocks" } : { name: "never written", means: "live heap that is not resident, since its pages were never written" };
  return Math.abs(more) < 0.5 ? parts : [...parts, { ...about, bytes: Math.abs(more), outside: more > 0 ? "overhead" : "absent" }];
}

// A part's colour, below the hatch that it has in pictures.
function fillOf(one) {
  const lines = `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><path d="${one.hatch}" stroke="#fff" stroke-width="1.4" opacity=".75"/></svg>`;
  return one.hatch ? `url("data:image/svg+xml,${encodeURIComponent(lines)}") ${one.colour}` : one.colour;
}

function bar(figures) {
  const parts = partsOf(figures);
  const inside = parts.filter((one) => one.outside !== "absent");
  const all = inside.reduce((sum, one) => sum + one.bytes, 0);
  if (!all) return [];
  const said = parts.map((one) => `${one.name} ${whole(one.bytes)} B`).join(", ");
  const piece = (one) => {
    const made = html("span", { class: one.outside ? "answer-piece answer-overhead" : "answer-piece", title: `${one.name}: ${whole(one.bytes)} B` });
    made.style.width = `${(100 * one.bytes) / all}%`;
    if (!one.outside) made.style.background = fillOf(one);
    return made;
  };
  const made = html("div", { class: "answer-bar", role: "img", "aria-label": `${liveName()} by what it is for: ${said}` }, ...inside.map(piece));
  const absent = parts.find((one) => one.outside === "absent");
  if (absent) {
    const veil = html("span", { class: "answer-absent", title: `${absent.name}: ${whole(absent.bytes)} B` });
    veil.style.width = `${Math.min(100, (100 * absent.bytes) / all)}%`;
    made.append(veil);
  }
  return [made];
}

function partRows(figures) {
  const parts = partsOf(figures);
  const size = figures.live.bytes;
  return html("ul", { class: "answer-parts", "aria-label": "what the bytes are for" }, ...parts.map((one) => {
    const swatch = html("i", { class: one.outside ? `answer-swatch answer-${one.outside}` : "answer-swatch" });
    if (!one.outside) swatch.style.background = fillOf(one);
    const share = one.outside ? (one.outside === "absent" ? "not in RSS" : "in RSS only") : 100 * one.bytes < 0.5 * size ? "under 1 %" : `${Math.round((100 * one.bytes) / size)} %`;
    return html("li", {}, swatch, html("b", {}, one.name), html("span", {}, ` ${whole(one.bytes)} B, ${share}`), one.means ? html("small", {}, one.means) : null);
  }));
}

// The number, or that there is none and the command that records it.
function number(row) {
  const stack = stackOf(state.stack);
  const session = `${titleOf(stack)}, one ${state.role} session ${states[state.state].name}`;
  const figures = row?.[state.state];
  const found = figures?.rss.bytes !== undefined;
  return [html("strong", {}, found ? figures.rss.text : "not recorded"), html("span", {}, ` ${rssName()} (${row?.state?.replace("in use, ", "") ?? states[state.state].about}): ${session}`)];
}

function notes(row) {
  if (!row) return [html("p", {}, `${titleOf(stackOf(state.stack))} is not recorded in use in ${suites[state.suite]}.`), ...advice(unrecorded[state.stack][state.suite]), html("p", {}, "Recorded are:"), recordedSuites()];
  const figures = row[state.state];
  const [stack, low] = [stackOf(state.stack), [figures.low_rss, figures.low_live]];
  const live = html("p", {}, `${liveName()[0].toUpperCase()}${liveName().slice(1)}: `, html("b", {}, figures.live.text), figures.live.bytes === undefined ? `. ${figures.live.why}.` : row.live ? `, ${row.live}.` : ".");
  const less = stack.option && low.some((one) => one.bytes !== undefined) ? html("p", {}, `With ${stack.option}: ${figures.low_rss.text} ${rssName()}, ${figures.low_live.text} ${liveName()}.`) : null;
  const split = figures.command && figures.live.bytes !== undefined ? [html("p", {}, "What the live heap is for is not recorded. This command records it:"), command(figures.command)] : [];
  const other = row.state ? [html("p", {}, `Recorded in a state other than servers run it in: ${row.state}. Compare it only with rows of that state.`), ...advice(row.advice, "This command records it as servers run it:")] : [];
  const behind = html("p", { class: "answer-quiet" }, `${suites[row.suite]}. Recorded ${row.recorded} in ${row.recording}. ${row.runs}.`);
  return [live, less, ...other, ...split, behind, command(row.made_by)].filter(Boolean);
}

// The command that records a stack in a suite, or why there is none.
function advice([text, reason], said = "This command records it:") {
  if (text) return [html("p", {}, said), command(text)];
  return reason ? [html("p", {}, `It cannot be recorded: ${reason}.`)] : [];
}

function recordedSuites() {
  const there = Object.keys(suites).filter((suite) => isRecorded(state.stack, suite));
  const chosen = (suite) => {
    const button = html("button", { type: "button" }, suites[suite]);
    button.addEventListener("click", () => change({ suite }));
    return button;
  };
  return html("p", { class: "answer-others" }, ...there.map(chosen));
}

// Every suite that the stack is not recorded in, with the command that records it: they are grey in the choice above.
function fillUnrecorded() {
  const missing = Object.entries(unrecorded[state.stack] ?? {});
  const items = missing.map(([suite, how]) => html("li", {}, suites[suite], ...advice(how)));
  element("unrecorded").hidden = !missing.length;
  element("unrecorded-title").textContent = `${missing.length} suites are not recorded for ${titleOf(stackOf(state.stack))}: the commands that record them`;
  element("unrecorded-list").replaceChildren(...items);
}

function total(row) {
  const bytes = row?.[state.state].rss.bytes;
  const count = Number(state.connections.replace(/\D/g, ""));
  element("total").textContent = bytes === undefined ? "not recorded" : `${((count * bytes) / GIB).toFixed(2)} GiB of RSS`;
}

// Every library's newest release, least first; a click chooses it.
function libraries() {
  const shown = stacks.filter((one) => one.newest || one.stack === state.stack);
  const rowsShown = shown.map((one) => rowOf(one.stack)).filter(Boolean);
  const kind = (rowOf(state.stack) ?? rowsShown.find((row) => !row.state) ?? rowsShown[0])?.state ?? null;
  const figuresOf = (row) => (row && row.state === kind ? row[state.state] : undefined);
  const found = shown.map((one) => ({ ...one, figures: figuresOf(rowOf(one.stack)) }));
  const there = found.filter((one) => one.figures?.rss.bytes !== undefined).sort((a, b) => a.figures.rss.bytes - b.figures.rss.bytes);
  const without = found.filter((one) => !there.includes(one));
  const most = Math.max(...there.flatMap((one) => [one.figures.rss.bytes, one.figures.live.bytes ?? 0]), 1);
  const items = there.map((one) => {
    const filled = html("i", { class: "answer-fill" });
    filled.style.cssText = `width: ${(100 * one.figures.rss.bytes) / most}%; background: ${one.colour}`;
    const mark = one.figures.live.bytes === undefined ? null : html("i", { class: "answer-mark" });
    if (mark) mark.style.left = `${(100 * one.figures.live.bytes) / most}%`;
    const label = `${titleOf(one)}: ${one.figures.rss.text} ${rssName()}, ${one.figures.live.text} ${liveName()}`;
    const button = html("button", { type: "button", class: "answer-row", "aria-label": label, "aria-pressed": String(one.stack === state.stack), "data-stack": one.stack }, html("span", { class: "answer-name" }, titleOf(one)), html("span", { class: "answer-track" }, filled, mark), html("span", { class: "answer-size" }, one.figures.rss.text));
    button.addEventListener("click", () => change({ stack: one.stack }));
    return html("li", {}, button);
  });
  element("libraries-title").textContent = `${rssName()} of one ${state.role} session, newest release of every library`;
  const elsewhere = (one) => {
    const button = html("button", { type: "button" }, `${titleOf(one)}: ${suites[usual[one.stack]]}`);
    button.addEventListener("click", () => change({ stack: one.stack, suite: usual[one.stack] }));
    return button;
  };
  const missing = without.length ? html("p", { class: "answer-quiet answer-others" }, `Not recorded in this suite${kind ? " and state" : ""}; recorded in another: `, ...without.map(elsewhere)) : null;
  const key = html("p", { class: "answer-quiet" }, `Bar: ${rssName()}. Line: ${liveName()}. ${suites[state.suite]}. ${kind ? `State: ${kind}` : "Library defaults"}. Choose a library to see its parts above.`);
  const focused = document.activeElement?.dataset?.stack;
  element("libraries").replaceChildren(html("ul", { class: "answer-libraries" }, ...items), ...[key, missing].filter(Boolean));
  if (focused) element("libraries").querySelector(`[data-stack="${CSS.escape(focused)}"]`)?.focus();
}

function selects() {
  const chosen = stackOf(state.stack);
  const fill = (id, pairs, value) => element(id).replaceChildren(...pairs.map(([one, text]) => option(one, text, one === value)));
  fill("library", distinct(stacks.map((one) => one.library)).map((one) => [one, one]), chosen.library);
  fill("release", stacks.filter((one) => one.library === chosen.library).map((one) => [one.stack, one.release]), state.stack);
  element("suite").replaceChildren(...Object.entries(suites).map(suiteOption));
  fill("state", Object.entries(states).map(([key, { name }]) => [key, name]), state.state);
  element("role").value = state.role;
  if (element("connections").value !== state.connections) element("connections").value = state.connections;
}

function suiteOption([suite, title]) {
  const other = rows.some((row) => row.stack === state.stack && row.suite === suite && row.state);
  const recorded = isRecorded(state.stack, suite);
  const made = option(suite, recorded ? `${title}${other ? " (another state)" : ""}` : `${title} (not recorded)`, suite === state.suite);
  return Object.assign(made, { disabled: !recorded, title: recorded ? "" : (unrecorded[state.stack][suite].find(Boolean) ?? "") });
}

function show() {
  const row = rowOf(state.stack);
  selects();
  element("number").replaceChildren(...number(row));
  element("bar").replaceChildren(...(row ? bar(row[state.state]) : []));
  element("parts").replaceChildren(...(row ? [partRows(row[state.state])] : []));
  element("notes").replaceChildren(...notes(row));
  total(row);
  fillUnrecorded();
  libraries();
}

function change(what) {
  Object.assign(state, what);
  show();
  report.address("answer", state);
}

// Unknown names in an address are as good as none.
function choose(asked) {
  if (stackOf(asked.stack)) state.stack = asked.stack;
  if (suites[asked.suite]) state.suite = asked.suite;
  if (["server", "client"].includes(asked.role)) state.role = asked.role;
  if (states[asked.state]) state.state = asked.state;
  if (/\d/.test(asked.connections ?? "")) state.connections = asked.connections;
  show();
}

function listen() {
  element("library").addEventListener("change", ({ target }) => change({ stack: newestOf(target.value) }));
  element("release").addEventListener("change", ({ target }) => change({ stack: target.value }));
  for (const id of ["suite", "role", "state"]) element(id).addEventListener("change", ({ target }) => change({ [id]: target.value }));
  element("connections").addEventListener("input", ({ target }) => {
    state.connections = target.value;
    total(rowOf(state.stack));
    report.address("answer", state);
  });
  element("choice").addEventListener("submit", (event) => event.preventDefault());
}

report.unpacked("answer").then((found) => {
  ({ stacks, suites, states, rows, unrecorded, usual, buckets } = found);
  const none = !rows.length;
  element("choice").hidden = none;
  for (const id of ["card-answer", "card-libraries"]) document.getElementById(id).hidden = none;
  if (none) return;
  Object.assign(state, { stack: found.opens, suite: Object.keys(suites)[0] });
  listen();
  show();
  report.choosable("answer", choose);
});
