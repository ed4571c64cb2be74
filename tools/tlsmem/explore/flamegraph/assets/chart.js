// The figure itself, drawn by d3-flame-graph.
const ROW = 21;
const host = document.getElementById("figure");
const tip = document.getElementById("tip");
const details = document.getElementById("details");
const draw = window.flamegraph.default;
let chart = null;

// Text on a bucket's colour, which a stylesheet cannot choose by itself.
for (const { colour, text } of Object.values(about.looks)) {
  const rule = `#figure rect[fill="${colour}"] ~ foreignObject .d3-flame-graph-label { color: ${text} }`;
  document.styleSheets[0].insertRule(rule, document.styleSheets[0].cssRules.length);
}

function chosenTerm() {
  if (!state.search) return null;
  try {
    return new RegExp(state.search, "i");
  } catch {
    return new RegExp(state.search.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  }
}

function matches(node, term) {
  const { name, file, module } = frameOf(node);
  return term !== null && node !== 0 && [name, file, module].some((text) => term.test(text));
}

function showTip(event, node) {
  const title = document.createElement("b");
  title.textContent = node === 0 ? "all that is shown" : frameOf(node).name;
  const sentences = said(node, state.moment, state.role).map((text) => paragraph(text));
  tip.replaceChildren(title, paragraph(where(node), "where"), ...sentences);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, window.innerWidth - width - 8);
  const under = event.clientY + 18;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${under + height < window.innerHeight ? under : Math.max(8, event.clientY - height - 12)}px`;
}

function showDetails(node) {
  const title = Object.assign(document.createElement("b"), { textContent: node === 0 ? "all that is shown" : frameOf(node).name });
  details.replaceChildren(title, ` · ${[...said(node, state.moment, state.role), ...peakSaid(state.moment)].join(" · ")}`);
}

function tooltip() {}
tooltip.show = (event, d) => showTip(event, d.data.node);
tooltip.hide = () => (tip.hidden = true);
tooltip.destroy = tooltip.hide;

function newChart(term) {
  return draw()
    .width(host.clientWidth)
    .cellHeight(ROW)
    .minFrameSize(1)
    .transitionDuration(0)
    .inverted(state.order === "icicle")
    .resetHeightOnZoom(true)
    .tooltip(tooltip)
    .getName((d) => labelOf(d.data.node, state.role))
    .setColorMapper((d) => (matches(d.data.node, term) ? "var(--match)" : colourOf(d.data.node, state.role)))
    .setDetailsHandler(() => showDetails(state.zoom))
    .onHover((d) => showDetails(d.data.node));
}

// Zoomed to the function that was, or to the nearest of its callers that is still there.
function zoomed(root) {
  for (let node = state.zoom; node; node = nodes[node][AT.caller]) {
    const found = root.find((d) => d.data.node === node);
    if (found) return found;
  }
  return root;
}

function redraw() {
  const data = figure(state.moment, state.role);
  tooltip.hide();
  host.replaceChildren();
  if (data.value <= 0) {
    host.append(paragraph(about.diff ? "OLD and NEW hold the same here." : `Nothing is live here at ${momentSaid(moments[state.moment])}.`, "empty"));
  } else {
    chart = newChart(chosenTerm());
    d3.select(host).datum(data).call(chart);
    const root = d3.select(host).datum();
    const to = zoomed(root);
    if (to !== root) chart.zoomTo(to);
    chart.onClick((d) => change({ zoom: d.data.node }, false));
  }
  showDetails(state.zoom);
  showFound();
}

// What is found, counted once where a found function called another; the outermost counts.
function showFound() {
  const term = chosenTerm();
  const found = document.getElementById("found");
  if (!term) return (found.textContent = "");
  const inside = [];
  let frames_ = 0;
  const sum = { bytes: 0, session: 0, units: new Set() };
  nodes.forEach((node, at) => {
    const here = isShown(at, state.role) && sums[state.moment].bytes[at] > 0 && matches(at, term);
    frames_ += here;
    inside[at] = at && (inside[node[AT.caller]] || here);
    if (!here || inside[node[AT.caller]]) return;
    const session = perSession(at, state.moment, state.role);
    sum.bytes += sums[state.moment].bytes[at];
    sum.session += session ? session.bytes : 0;
    sum.units.add(session ? session.unit : "");
  });
  const all = held(0, state.moment, state.role).bytes;
  const [unit] = sum.units;
  const session = sum.units.size === 1 && unit ? `, ${bytesSaid(sum.session)} per ${unit}` : "";
  const whole_ = about.diff ? unitOf(0, state.role) : { by: 1, said: "" };
  found.textContent = frames_
    ? `${whole(frames_)} found: ${bytesSaid(sum.bytes / whole_.by)}${addedUp(state.moment)}${whole_.said}, ${shareSaid(sum.bytes, all)}${session}`
    : "nothing found here";
}
