// One stack's phases as stacked bars, with both peaks of each phase and a line of RSS.
const MARGIN = { top: 26, right: 6, bottom: 66, left: 46 };
const HEIGHT = 330;
const ROOM = { wide: 40, high: 13 }; // of a part that has its name in it

// The largest figure of a panel: scales end there.
function highest(entry, role, rss) {
  const of = entry?.roles[role];
  const sizes = (entry?.phases ?? []).flatMap((_, at) => ["live", "peak"].map((kind) => figure(of, kind, at)?.bytes ?? 0));
  const singles = (entry?.phases ?? []).map((_, at) => alone(entry, role, at)?.bytes ?? 0);
  return Math.max(0, ...sizes, ...singles, ...((rss && of?.rss[rss]?.bytes) || []).map((size) => size ?? 0));
}

// Hatches and areas without a bucket, once for the page: their ids are the section's.
function patterns() {
  const hatched = known.buckets.filter((one) => one.hatch);
  const made = hatched.map((one) =>
    svg("pattern", { id: patternOf(one), width: 8, height: 8, patternUnits: "userSpaceOnUse" },
      svg("rect", { width: 8, height: 8, fill: one.colour }), svg("path", { d: one.hatch, stroke: "#fff", "stroke-width": 1.4, opacity: 0.75 })),
  );
  return svg("svg", { width: 0, height: 0, "aria-hidden": "true", class: "phases-patterns" }, svg("defs", {}, ...made));
}

const patternOf = (look) => `phases-hatch-${look.short.replace(/\W/g, "-")}`;
const fillOf = (look) => (look.hatch ? `url(#${patternOf(look)})` : look.colour);

function bar(entry, role, at, x, wide, y) {
  const now = figure(entry.roles[role], "live", at);
  if (!now) return [];
  const parts = buckets(entry, role, at);
  if (!parts) return [svg("rect", { x, width: wide, y: y(now.bytes), height: Math.max(0, y(0) - y(now.bytes)), class: "phases-whole" })];
  let below = 0;
  return parts.filter((one) => one.bytes > 0).flatMap(({ look, bytes }) => {
    const [top, high] = [y(below + bytes), y(below) - y(below + bytes)];
    below += bytes;
    const part = svg("rect", { x, width: wide, y: top, height: high, fill: fillOf(look), class: "phases-part", "data-bucket": look.bucket, "data-bytes": bytes });
    const fits = high >= ROOM.high && wide >= Math.max(ROOM.wide, 5.4 * look.short.length);
    const name = fits && svg("text", { x: x + wide / 2, y: top + high / 2 + 3.5, class: "phases-name", fill: look.text, stroke: look.hatch ? look.colour : null }, look.short);
    return fits ? [part, name] : [part];
  });
}

// The most within a phase, as a stroke above its bar.
function peak(entry, role, at, x, wide, y) {
  const [now, most] = ["live", "peak"].map((kind) => figure(entry.roles[role], kind, at));
  if (!most || y(now?.bytes ?? 0) - y(most.bytes) < 2) return [];
  const middle = x + wide / 2;
  return [svg("path", { d: `M${middle},${y(now?.bytes ?? 0)} V${y(most.bytes)} M${x + wide * 0.15},${y(most.bytes)} H${x + wide * 0.85}`, class: "phases-peak" })];
}

// The peak of one session alone, as a diamond.
const diamond = (x, y) => svg("path", { d: `M${x},${y - 4} l4,4 l-4,4 l-4,-4 z`, class: "phases-alone" });

function peakAlone(entry, role, at, x, wide, y) {
  const [now, single] = [figure(entry.roles[role], "live", at), alone(entry, role, at)];
  return single && y(now?.bytes ?? 0) - y(single.bytes) >= 2 ? [diamond(x + wide / 2, y(single.bytes))] : [];
}

// Where a bar's figure stands: above it, or above its peaks where these are near.
function topOf(entry, role, at, y) {
  const of = entry.roles[role];
  const now = figure(of, "live", at);
  const end = y(Math.max(0, now?.bytes ?? 0));
  const peaks = now ? [figure(of, "peak", at), alone(entry, role, at)].filter(Boolean) : [];
  const tops = peaks.map((one) => y(one.bytes)).sort((a, b) => b - a);
  return tops.reduce((top, one) => (top - one < 18 ? Math.min(top, one) : top), end);
}

// In front of all else.
function total(entry, state, at, x, step, y) {
  const now = figure(entry.roles[state.role], "live", at);
  const size = Math.min(11.5, step / 2.8);
  return now && svg("text", { x: x + step / 2, y: topOf(entry, state.role, at, y) - 5, class: "phases-total", "font-size": size }, tenth(now.bytes / 1024));
}

function phaseMark(entry, state, at, x, step, y) {
  const [wide, left, top] = [step * 0.84, x + step * 0.08, topOf(entry, state.role, at, y)];
  const said = [readable(entry.phases[at]), ...lines(entry, state.role, at, state.rss).filter(Boolean)].join(". ");
  const area = svg("rect", { x, y: MARGIN.top, width: step, height: HEIGHT - MARGIN.top - MARGIN.bottom, class: "phases-area" });
  const spot = svg("rect", { x, y: top - 16, width: step, height: 18, fill: "none", "data-spot": true });
  const name = svg("text", { x: 0, y: 0, class: "phases-phase", transform: `translate(${x + step / 2 + 4},${HEIGHT - MARGIN.bottom + 14}) rotate(-38)` }, readable(entry.phases[at]));
  const parts = [area, spot, ...[bar, peak, peakAlone].flatMap((draw) => draw(entry, state.role, at, left, wide, y)), name];
  const pressed = { "aria-label": said, "aria-pressed": String(state.at === at), tabindex: at === (state.at ?? 0) ? 0 : -1 };
  return svg("g", { role: "button", class: "phases-mark", "data-phase": entry.phases[at], ...pressed }, ...parts);
}

function rssLine(entry, state, x, step, y) {
  const sizes = (state.rss && entry.roles[state.role]?.rss[state.rss]?.bytes) || [];
  const points = sizes.map((size, at) => (size === null ? null : [x(at) + step / 2, y(size)])).filter(Boolean);
  if (!points.length) return [];
  const dots = points.map(([cx, cy]) => svg("circle", { cx, cy, r: 3.2 }));
  return [svg("g", { class: "phases-rss", "aria-hidden": "true" }, svg("polyline", { points: points.join(" ") }), ...dots)];
}

// state: role, rss, at (the chosen phase or null), most (where the scale ends), title; chosen(at) when a phase is.
function chart(host, entry, state, chosen) {
  const width = Math.max(280, host.clientWidth);
  const step = (width - MARGIN.left - MARGIN.right) / entry.phases.length;
  const [unit, size] = unitOf(state.most);
  const high = HEIGHT - MARGIN.top - MARGIN.bottom;
  const y = (bytes) => MARGIN.top + high * (1 - Math.max(0, bytes) / (state.most * 1.06 || 1));
  const x = (at) => MARGIN.left + at * step;
  const axis = ticks(0, state.most * 1.06, size).flatMap((tick) => [
    svg("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: y(tick), y2: y(tick), class: tick ? "charts-grid" : "charts-zero" }),
    svg("text", { x: MARGIN.left - 6, y: y(tick) + 4, class: "charts-axis", "text-anchor": "end" }, tenth(tick / size)),
  ]);
  const title = svg("text", { x: 0, y: 12, class: "charts-axis" }, `${unit} per ${sessionOf(state.role)}`);
  const found = entry.phases.map((_, at) => phaseMark(entry, state, at, x(at), step, y));
  const list = svg("g", { role: "list", "aria-label": `${state.title}: phases` }, ...found.map((one) => svg("g", { role: "listitem" }, one)));
  const shown = svg("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "group", "aria-label": state.title });
  shown.append(svg("g", { "aria-hidden": "true" }, title, ...axis), list, ...rssLine(entry, state, x, step, y));
  shown.append(svg("g", { "aria-hidden": "true" }, ...entry.phases.map((_, at) => total(entry, state, at, x(at), step, y))));
  marks(found, (at) => [readable(entry.phases[at]), lines(entry, state.role, at, state.rss)], chosen);
  host.replaceChildren(shown);
}
