// What is chosen, kept in the address, so that what is seen can be linked to.
const element = (id) => document.getElementById(id);
const ORDERS = ["icicle", "flame"];
const THEMES = ["auto", "light", "dark"];
const ROLES = ["all", "client", "server", "contexts", "harness"].filter((role) => role === "all" || roleOf.includes(role));
const START = { stack: about.stack ?? "", suite: about.suite ?? "", phase: about.opens.phase, role: about.opens.role, search: "", frame: "", order: "icicle", theme: "auto" };
const state = {};

const oneOf = (value, known) => (known.includes(value) ? value : known[0]);

// A link names stack, suite, moment and function, so that it leads to the same in the page of another recording. What it
// names and this page does not have is said.
let unknown = "";

function readAddress() {
  const asked = { ...START, ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))) };
  const others = ["stack", "suite"].filter((key) => asked[key] !== START[key]).map((key) => `${asked[key]}, this page of ${START[key] || "another program"}`);
  if (!ROLES.includes(asked.role)) others.push(`${asked.role}, which this page does not have: shown are all`);
  if (!moments.includes(asked.phase)) others.push(`${momentSaid(asked.phase)}, which this page does not have: shown is ${momentSaid(START.phase)}`);
  unknown = others.length ? `This link is of ${others.join("; of ")}.` : "";
  state.moment = Math.max(0, moments.indexOf(moments.includes(asked.phase) ? asked.phase : START.phase));
  state.role = oneOf(asked.role, ROLES);
  state.search = asked.search;
  state.zoom = flames.readLink(asked.frame);
  state.order = oneOf(asked.order, ORDERS);
  state.theme = oneOf(asked.theme, THEMES);
}

function writeAddress() {
  const now = { ...START, ...state, phase: moments[state.moment], frame: flames.writeLink(state.zoom) };
  const chosen = Object.keys(START).filter((key) => (["stack", "suite"].includes(key) && START[key]) || key === "phase" || now[key] !== START[key]);
  const address = `#${new URLSearchParams(chosen.map((key) => [key, now[key]]))}`;
  if (location.hash !== address) location.replace(address);
}

function change(what, drawn = true) {
  Object.assign(state, what);
  unknown = "";
  writeAddress();
  show();
  if (drawn) return redraw();
  showDetails(alone);
  showNote();
}

function button(text, pressed, chosen) {
  const made = Object.assign(document.createElement("button"), { type: "button", textContent: text });
  made.setAttribute("aria-pressed", pressed);
  made.addEventListener("click", chosen);
  return made;
}

// Whether the peak of a phase is no more than its end, function by function: the strip leaves it out.
function equalsEnd(moment, role) {
  const end = about.ends?.[moment] ?? null;
  return end !== null && nodes.every((_, at) => !at || !isShown(at, role) || sums[moment].bytes[at] === sums[end].bytes[at]);
}

function phaseButton(name, moment, most) {
  const bytes = sizeAt(moment, state.role);
  const unit = about.diff ? unitOf(WHOLE, state.role) : { by: 1, said: "" };
  const added = addedUp(moment) + unit.said;
  const made = button("", moment === state.moment, () => change({ moment }));
  const part = (tag, kind, text) => Object.assign(document.createElement(tag), { className: kind, textContent: text });
  const bar = part("span", "bar", "");
  bar.append(document.createElement("i"));
  bar.firstChild.style.height = `${most ? (100 * bytes) / most : 0}%`;
  made.append(bar, part("span", "name", momentSaid(name)), part("span", "bytes", compact(bytes / unit.by) + added));
  made.classList.toggle("alone", Boolean(about.alone?.[moment]));
  made.hidden = moment !== state.moment && equalsEnd(moment, state.role);
  made.title = `${name}: ${bytesSaid(bytes / unit.by)}${added}`;
  return made;
}

function show() {
  const focused = document.activeElement && document.activeElement.closest("#phases button, #roles button");
  const [group, at] = focused ? [focused.parentNode, [...focused.parentNode.children].indexOf(focused)] : [];
  const most = Math.max(...moments.map((_, moment) => sizeAt(moment, state.role)));
  element("phases").replaceChildren(...moments.map((name, moment) => phaseButton(name, moment, most)));
  element("roles").replaceChildren(...ROLES.map((role) => button(role, role === state.role, () => change({ role, zoom: [] }))));
  element("roles").hidden = ROLES.length < 3;
  if (group) group.children[at].focus();
  const strip = element("phases");
  const chosen = strip.children[state.moment];
  if (strip.scrollWidth > strip.clientWidth) strip.scrollLeft = chosen.offsetLeft - strip.offsetLeft - strip.clientWidth / 2 + chosen.offsetWidth / 2;
  if (element("search").value !== state.search) element("search").value = state.search;
  element("order").textContent = `view: ${state.order}`;
  element("theme").textContent = `colours: ${state.theme}`;
  showLegend();
  element("reset").hidden = state.zoom.length === 0;
  if (state.theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = state.theme;
}

function legendEntry(colour, text, bytes) {
  const entry = document.createElement("li");
  const swatch = document.createElement("i");
  swatch.style.background = colour;
  entry.append(swatch, bytes === undefined ? text : `${text} `);
  if (bytes !== undefined) entry.append(Object.assign(document.createElement("small"), { textContent: bytesSaid(bytes) }));
  return entry;
}

function showLegend() {
  element("legend").hidden = isOfPurposes(state.moment);
  const sizes = byKind(state.moment, state.role);
  const entries = kinds.slice(0, by_bucket ? kinds.length : AREAS).map((kind, at) => sizes[at] && legendEntry(colourOfKind(at), kind, sizes[at]));
  if (!about.diff || byPurpose) entries.push(legendEntry(REST, by_bucket ? "several of these, or none" : "other"));
  const changed = [["var(--flames-more)", "▲ NEW holds more"], ["var(--flames-less)", "▼ NEW holds less"], ["var(--flames-same)", "as much"]];
  const shown = about.diff && !byPurpose ? changed.map((one) => legendEntry(...one)) : entries.filter(Boolean);
  element("legend").replaceChildren(...shown, legendEntry("var(--flames-hit)", "found"));
}

function showSmaller() {
  if (!smaller) return;
  const [moment, bytes] = smaller.bytes.reduce((a, b) => (b[1] > a[1] ? b : a), [0, 0]);
  const all = held(WHOLE, moment, "all").bytes;
  element("smaller").hidden = false;
  element("smaller").textContent =
    `${whole(smaller.functions)} places that never held more than ${bytesSaid(smaller.at_most)} each are put together as (smaller sites): ` +
    `at ${momentSaid(moments[moment])} ${bytesSaid(bytes)}, ${shareSaid(bytes, all)} of all.`;
}

function showReading() {
  element("reading").textContent = about.diff
    ? `OLD is ${about.diff.old}, NEW is ${about.diff.new}. The width of a function is what it and all that it called hold; in “change”, by how much that differs, more and less added up. ${byPurpose ? "" : sharedSaid()}`
    : "The width of a function is what it and all that it called hold at this moment; who called it is on the side of the root. Allocators' own functions are left out.";
}

const next = (known, value) => known[(known.indexOf(value) + 1) % known.length];
const reset = () => change({ zoom: [], search: "" });

function pressed(event) {
  const typing = event.target === element("search");
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    element("search").blur();
    reset();
  } else if (!typing && event.key === "/") {
    event.preventDefault();
    element("search").focus();
    element("search").select();
  } else if (!typing && step) {
    event.preventDefault();
    const shown = moments.map((_, moment) => moment).filter((moment) => !element("phases").children[moment].hidden);
    change({ moment: shown[Math.min(shown.length - 1, Math.max(0, shown.indexOf(state.moment) + step))] });
  }
}

let drawnWidth = 0;
new ResizeObserver(() => {
  if (host.clientWidth === drawnWidth) return;
  drawnWidth = host.clientWidth;
  redraw();
}).observe(host);
element("search").addEventListener("input", () => change({ search: element("search").value }));
element("reset").addEventListener("click", () => change({ zoom: [] }));
element("order").addEventListener("click", () => change({ order: next(ORDERS, state.order) }));
element("theme").addEventListener("click", () => change({ theme: next(THEMES, state.theme) }));
document.addEventListener("keydown", pressed);
window.addEventListener("hashchange", () => {
  const before = JSON.stringify(state);
  readAddress();
  if (JSON.stringify(state) === before && !unknown) return;
  show();
  redraw();
});
readAddress();
showSmaller();
showReading();
show();
redraw();
drawnWidth = host.clientWidth;
