// The chooser: one session of one stack, its cost and what it is for, another stack to compare it with, what many
// connections take, and the newest release of every library.
const { html, whole, command, option, quoted } = report.charts;
const { planMemory, formatSize, count } = report.plan;
const element = (id) => document.getElementById(`answer-${id}`);
const UNSPLIT = "live heap"; // of which call stacks are not recorded
const INPUTS = ["connections", "share", "handshakes", "kernel"];
const state = { role: "server", state: "use", other: "", connections: element("connections").value, share: "", handshakes: "0", kernel: "", tickets: "", low: "" };
let stacks, suites, states, rows, unrecorded, usual, buckets, kernel, named; // what was packed

const stackOf = (name) => stacks.find((one) => one.stack === name);
const titleOf = ({ library, release }) => `${library.replace(/ \(.*/, "")} ${release}${library.match(/ \(.*/)?.[0] ?? ""}`;
const rowOf = (stack) => rows.find((row) => row.stack === stack && row.suite === state.suite && row.role === state.role);
const newestOf = (library) => (stacks.find((one) => one.library === library && one.stable) ?? stacks.find((one) => one.library === library)).stack;
const distinct = (found) => [...new Set(found)];
const isRecorded = (stack, suite) => !unrecorded[stack]?.[suite];
const otherStack = () => (state.other !== state.stack && stackOf(state.other) ? state.other : ""); // that it is compared with
const rssName = () => `RSS ${states[state.state].name}`;
const liveName = () => `live heap ${states[state.state].name}`;

// Live heap by bucket as far as call stacks are recorded, and what RSS has beyond it, or lacks of it.
function partsOf(figures, stack) {
  const { live, rss } = figures;
  if (live.bytes === undefined) return [];
  const split = figures.parts.map(([name, bytes]) => ({ name, bytes, ...buckets[name] }));
  const rest = live.bytes - figures.parts.reduce((sum, [, bytes]) => sum + bytes, 0);
  const unsplit = { name: split.length ? "not in the call stacks" : UNSPLIT, bytes: rest, colour: split.length ? "#8d99a6" : stackOf(stack).colour, means: split.length ? "differs between sessions: signatures, tables that grow" : "not split into parts: call stacks are not recorded" };
  const shared = { name: "not of each session", bytes: rest, outside: "shared", means: "in the call stacks of few sessions, but not in one more session: kept for a limited number, as in a cache" };
  const parts = rest > 0.5 ? [...split, unsplit] : rest < -0.5 ? [...split, shared] : split;
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

const inside = (parts) => parts.filter((one) => !["absent", "shared"].includes(one.outside));
const sumOf = (parts) => inside(parts).reduce((sum, one) => sum + one.bytes, 0);

// A bar of the parts of a stack's session; `most` bytes have the whole width.
function bar(figures, stack, most) {
  const parts = partsOf(figures, stack);
  const all = sumOf(parts);
  if (!all) return [];
  const said = parts.map((one) => `${one.name} ${whole(one.bytes)} B`).join(", ");
  const piece = (one) => {
    const made = html("span", { class: one.outside ? "answer-piece answer-overhead" : "answer-piece", title: `${one.name}: ${whole(one.bytes)} B` });
    made.style.width = `${(100 * one.bytes) / all}%`;
    if (!one.outside) made.style.background = fillOf(one);
    return made;
  };
  const label = `${titleOf(stackOf(stack))}, ${liveName()} by what it is for: ${said}`;
  const made = html("div", { class: "answer-bar", role: "img", "aria-label": label }, ...inside(parts).map(piece));
  made.style.width = `${(100 * all) / most}%`;
  const absent = parts.find((one) => one.outside === "absent");
  if (absent) {
    const veil = html("span", { class: "answer-absent", title: `${absent.name}: ${whole(absent.bytes)} B` });
    veil.style.width = `${Math.min(100, (100 * absent.bytes) / all)}%`;
    made.append(veil);
  }
  return [made];
}

// The figures of the other stack: of a session in the same suite, role, and state.
function otherFigures(row) {
  const other = row && otherStack() ? rowOf(otherStack()) : undefined;
  return other && other.state === row.state ? other[state.state] : undefined;
}

const signed = (bytes) => `${bytes > 0.5 ? "+" : bytes < -0.5 ? "−" : ""}${whole(Math.abs(bytes))}`;

// The parts of a session; beside them those of the other stack, and how much more or less it holds of each.
function partTable(row) {
  const figures = row[state.state];
  const beside = otherFigures(row);
  const [ours, theirs] = [partsOf(figures, state.stack), beside ? partsOf(beside, state.other) : []].map((some) => some.filter((one) => one.name !== UNSPLIT));
  const areSplit = [figures, beside].map((one) => one?.parts.length > 0);
  const areKnown = (key) => [figures, beside].map((one) => one?.[key].bytes !== undefined);
  const names = distinct([...ours, ...theirs].map((one) => one.name));
  const heading = (text) => html("th", { scope: "col" }, text);
  const sizes = (some, name) => some.find((one) => one.name === name)?.bytes;
  const text = (bytes, isSplit) => (bytes !== undefined ? whole(bytes) : isSplit ? "–" : "not recorded");
  const cells = (one, other, areKnown) => {
    const texts = beside ? [text(one, areKnown[0]), text(other, areKnown[1])] : [text(one, true)];
    const difference = areKnown[0] && areKnown[1] ? signed(Math.round(other ?? 0) - Math.round(one ?? 0)) : "–";
    return [...texts, ...(beside ? [difference] : [])].map((said) => html("td", {}, said));
  };
  const line = (name) => {
    const one = ours.find((part) => part.name === name) ?? theirs.find((part) => part.name === name);
    const swatch = html("i", { class: one.outside ? `answer-swatch answer-${one.outside}` : "answer-swatch" });
    if (!one.outside) swatch.style.background = fillOf(one);
    const sign = (bytes) => (bytes !== undefined && one.outside === "absent" ? -bytes : bytes);
    return html("tr", {}, html("th", { scope: "row" }, swatch, html("b", {}, name), one.means ? html("small", {}, one.means) : null), ...cells(sign(sizes(ours, name)), sign(sizes(theirs, name)), one.outside ? areKnown("rss") : areSplit));
  };
  const sum = (name, key) => html("tr", { class: "answer-sum" }, html("th", { scope: "row" }, name), ...cells(figures[key].bytes, beside?.[key].bytes, areKnown(key)));
  const outside = (name) => [...ours, ...theirs].find((one) => one.name === name).outside;
  const live = [...names.filter((name) => !outside(name)), ...names.filter((name) => outside(name) === "shared")];
  const outer = names.filter((name) => !live.includes(name));
  const columns = beside ? [`A: ${titleOf(stackOf(state.stack))}`, `B: ${titleOf(stackOf(state.other))}`, "B − A"] : [titleOf(stackOf(state.stack))];
  return html("table", { class: "answer-table", "aria-label": "what the bytes are for" },
    html("thead", {}, html("tr", {}, heading("bytes of one session"), ...columns.map(heading))),
    html("tbody", {}, ...live.map(line), sum(liveName(), "live"), ...outer.map(line), sum(rssName(), "rss")));
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
  const beside = otherFigures(row);
  if (beside?.command && beside.live.bytes !== undefined) split.push(html("p", {}, `What the live heap of ${titleOf(stackOf(state.other))} is for is not recorded. This command records it:`), command(beside.command));
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

// What is chosen, with what stands for an input that nobody changed.
const inputs = () => ({ ...state, share: state.share || (state.state === "use" ? "100%" : "0%"), kernel: state.kernel || whole(kernel[state.role]) });
const planOf = (row) => row?.plans.find((one) => one.low === (state.low === "yes") && String(one.tickets) === state.tickets);

// The command that answers the same.
function planCommand(row, plan) {
  const { connections, share, handshakes } = inputs();
  const plain = (text) => text.replace(/[,_\s]/g, "");
  const words = ["tools/tls-memtest", "plan", "memory", "--connections", plain(connections), "--stack", row.stack, "--suite", row.suite, "--role", row.role];
  if (plain(share) !== "100%") words.push("--in-use", plain(share));
  if (plain(handshakes) !== "0") words.push("--handshaking", plain(handshakes));
  if (state.kernel && count(state.kernel) !== BigInt(kernel[state.role])) words.push("--kernel-bytes", plain(state.kernel));
  if (plan.low) words.push("--low-memory");
  if (plan.tickets !== "library") words.push("--tickets", plan.tickets);
  return [...words, ...named].map((word) => quoted(String(word))).join(" ");
}

const describePlan = ({ tickets, low }) => `with ${tickets === "library" ? "the library's" : tickets || "no"} tickets${low ? " and low memory" : ""}`;

// The answer to what is chosen: bytes, or what is wrong with an input, or what it lacks and how that is recorded. Of a
// session that is not recorded as servers run it the notes say so.
function answerOf(stack) {
  const row = rowOf(stack);
  const plan = planOf(row);
  if (!plan) return {};
  if (!plan.quiet) return { lacks: `this session ${describePlan(plan)}`, how: plan.advice };
  const found = planMemory(plan, inputs());
  if (found.missing === "handshake") return { lacks: `what a handshake adds ${describePlan(plan)}`, how: plan.handshakes };
  if (found.missing) return { lacks: "a connection at rest", how: row.advice };
  return { ...found, row, plan };
}

function total() {
  const { bytes, terms, wrong, lacks, how, row, plan, connections, prices } = answerOf(state.stack);
  const other = otherStack() ? answerOf(state.other) : null;
  if (bytes === undefined) {
    element("total").replaceChildren(html("strong", {}, wrong ? "–" : "not recorded"), wrong ? ` ${wrong}` : lacks ? `: ${lacks}` : "");
    element("plan").replaceChildren(...(how ? advice(how) : []));
    return;
  }
  const without = state.low && otherStack() && !stackOf(state.other).option ? "has no option to hold less" : "not recorded";
  const beside = other && !other.wrong ? `${titleOf(stackOf(state.other))}: ${other.bytes === undefined ? without : formatSize(other.bytes)}` : "";
  const shown = terms.filter((one) => one.bytes).map((one) => `${one.what} ${formatSize(one.bytes)}`);
  const beyond = connections > BigInt(prices.widest) ? ` Measured up to ${whole(prices.widest)} connections; beyond that, extrapolated.` : "";
  element("total").replaceChildren("= ", html("strong", {}, formatSize(bytes)), ` to provision`, beside ? html("span", { class: "answer-against" }, beside) : "");
  element("plan").replaceChildren(html("p", { class: "answer-quiet" }, `${bytes.toLocaleString("en")} B: ${shown.join(" + ")}.${beyond}`), command(planCommand(row, plan)));
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
  const key = html("p", { class: "answer-quiet" }, `Bar: ${rssName()}. Line: ${liveName()}. ${suites[state.suite]}. ${kind ? `State: ${kind}` : "Library defaults"}. Choose a library to see its parts.`);
  const focused = document.activeElement?.dataset?.stack;
  element("libraries").replaceChildren(html("ul", { class: "answer-libraries" }, ...items), ...[key, missing].filter(Boolean));
  if (focused) element("libraries").querySelector(`[data-stack="${CSS.escape(focused)}"]`)?.focus();
}

// The bar of the other stack, or that it is not recorded and the command that records it.
function besideBar(figures, most) {
  const title = titleOf(stackOf(state.other));
  if (figures?.rss.bytes !== undefined) return [html("p", { class: "answer-quiet" }, html("b", {}, figures.rss.text), ` ${rssName()}: ${title}`), ...bar(figures, state.other, most)];
  const way = rowOf(state.other)?.advice ?? unrecorded[state.other]?.[state.suite] ?? [];
  return [html("p", { class: "answer-quiet" }, html("b", {}, "not recorded"), ` in this suite and state: ${title}`), ...advice(way)];
}

function selects() {
  const chosen = stackOf(state.stack);
  const fill = (id, pairs, value) => element(id).replaceChildren(...pairs.map(([one, text]) => option(one, text, one === value)));
  fill("library", distinct(stacks.map((one) => one.library)).map((one) => [one, one]), chosen.library);
  fill("release", stacks.filter((one) => one.library === chosen.library).map((one) => [one.stack, one.release]), state.stack);
  element("suite").replaceChildren(...Object.entries(suites).map(suiteOption));
  fill("state", Object.entries(states).map(([key, { name }]) => [key, name]), state.state);
  element("role").value = state.role;
  const others = stacks.filter((one) => one.stack !== state.stack);
  element("other").replaceChildren(option("nothing", "nothing"), ...others.map((one) => option(one.stack, titleOf(one), one.stack === state.other)));
  const shown = inputs();
  for (const id of INPUTS) if (element(id).value !== shown[id] && document.activeElement !== element(id)) element(id).value = shown[id];
  const plans = rowOf(state.stack)?.plans ?? [];
  const tickets = distinct(["library", ...plans.map((one) => String(one.tickets))]);
  if (!tickets.includes(state.tickets)) state.tickets = "library";
  const has = Boolean(chosen.option);
  if (!has) state.low = "";
  fill("tickets", tickets.map((one) => [one, one === "library" ? "library's" : one === "0" ? "none" : one]), state.tickets);
  element("low").title = chosen.option ?? "";
  fill("low", [["", has ? "no" : "no option"], ...(has ? [["yes", "yes"]] : [])], state.low);
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
  const beside = otherFigures(row);
  const most = Math.max(row ? sumOf(partsOf(row[state.state], state.stack)) : 0, beside ? sumOf(partsOf(beside, state.other)) : 0);
  element("bar").replaceChildren(...(row ? bar(row[state.state], state.stack, most) : []));
  element("other-bar").replaceChildren(...(otherStack() && row ? besideBar(beside, most) : []));
  element("parts").replaceChildren(...(row ? [partTable(row)] : []));
  element("notes").replaceChildren(...notes(row));
  total();
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
  if (stackOf(asked.other) || asked.other === "nothing") state.other = asked.other;
  for (const key of [...INPUTS, "tickets", "low"]) if (asked[key]) state[key] = asked[key];
  show();
}

function listen() {
  element("library").addEventListener("change", ({ target }) => change({ stack: newestOf(target.value) }));
  element("release").addEventListener("change", ({ target }) => change({ stack: target.value }));
  for (const id of ["suite", "role", "state", "other", "tickets", "low"]) element(id).addEventListener("change", ({ target }) => change({ [id]: target.value }));
  for (const id of INPUTS) {
    element(id).addEventListener("input", ({ target }) => {
      state[id] = target.value;
      total();
      report.address("answer", state);
    });
  }
  element("inputs").addEventListener("submit", (event) => event.preventDefault());
  element("choice").addEventListener("submit", (event) => event.preventDefault());
}

report.unpacked("answer").then((found) => {
  ({ stacks, suites, states, rows, unrecorded, usual, buckets, kernel, named } = found);
  const none = !rows.length;
  element("choice").hidden = none;
  for (const id of ["card-answer", "card-libraries", "card-parts"]) document.getElementById(id).hidden = none;
  if (none) return;
  Object.assign(state, { stack: found.opens, suite: Object.keys(suites)[0], other: found.beside ?? "nothing" });
  listen();
  show();
  report.choosable("answer", choose);
});
