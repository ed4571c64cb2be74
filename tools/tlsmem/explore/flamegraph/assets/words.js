// What the page says, and in which colours.
const AREAS = 9; // that have a colour: the largest
const REST = "var(--flames-rest)";

const whole = (number) => Math.round(number).toLocaleString("en");
const tenth = (number) => number.toLocaleString("en", { maximumFractionDigits: 1 });
const bytesSaid = (bytes) => `${tenth(bytes)} B`;
const blocksSaid = (blocks) => (Number.isNaN(blocks) ? "" : ` in ${tenth(blocks)} block${blocks === 1 ? "" : "s"}`);
const shareSaid = (part, all) => (all ? `${((100 * part) / all).toFixed(1)} %` : "0 %");
const momentSaid = (name) => about.readable[name] || name;

// For buttons: exact as long as there is room.
function compact(bytes) {
  if (Math.abs(bytes) < 1e6) return `${whole(bytes)} B`;
  const [unit, name] = Math.abs(bytes) < 2 ** 30 ? [2 ** 20, "MiB"] : [2 ** 30, "GiB"];
  return `${tenth(bytes / unit)} ${name}`;
}

const where = (frame) => (frame.parent ? flames.whereOf(tree, [...frame.nodes][0], 6) : "");

// A difference of stacks that share too few functions is drawn by what the bytes are for.
const CHANGE = 2; // the moment of a comparison that is the difference
const byPurpose = Boolean(about.diff?.by_purpose);
const isOfPurposes = (moment) => byPurpose && moment === CHANGE;

function sizeAt(moment, role) {
  if (!isOfPurposes(moment)) return held(WHOLE, moment, role).bytes;
  const [old, now] = [0, 1].map((one) => byKind(one, role));
  return kinds.reduce((sum, _, at) => sum + Math.abs(now[at] - old[at]), 0);
}

function sharedSaid() {
  const { shared, least_shared } = about.diff;
  const both = `${shareSaid(shared, 1)} of the bytes that libraries allocate are below a function that OLD and NEW both call`;
  const least = `${whole(100 * least_shared)} %`;
  return byPurpose
    ? `${both}. That is less than ${least}, so the difference is drawn by what the bytes are for, and OLD and NEW in the colours of these purposes.`
    : `${both}; below ${least} the difference would be drawn by what the bytes are for.`;
}

const deltaOf = (frame, role) => held(frame, 1, role).bytes - held(frame, 0, role).bytes;

// In a comparison sessions' bytes are said of one session; what both hold together has no such divisor, and is said to
// be the process's where others are a session's.
function unitOf(frame, role) {
  const whose = whoseOf(frame, role);
  const isSession = about.sessions && about.session_roles.includes(whose);
  if (isSession) return { by: about.sessions, said: ` per ${whose} session` };
  return { by: 1, said: about.diff && about.sessions ? " in the process" : "" };
}

// Of a comparison's third moment, which adds up what is more and what is less.
const addedUp = (moment) => (about.diff && moments[moment] === "change" ? " more + less" : "");

function peakSaid(moment) {
  if (about.alone?.[moment]) return ["one session alone, each at its own peak: the two need not be at the same moment"];
  return about.at_peak[moment] && about.sessions > 1 ? ["the peak falls within a step: not all sessions are equal then"] : [];
}

function deltaSaid(frame, role) {
  const unit = unitOf(frame, role);
  const [old, now] = [0, 1].map((moment) => held(frame, moment, role).bytes / unit.by);
  if (old === now) return `NEW holds as much as OLD${unit.said}: ${bytesSaid(old)}`;
  const more = `${bytesSaid(Math.abs(now - old))} ${now > old ? "more" : "less"}${unit.said}`;
  return `NEW (${about.diff.new}) holds ${more}: ${bytesSaid(old)} in OLD (${about.diff.old}), ${bytesSaid(now)} in NEW`;
}

// The sentences of the tooltip and of the line above the figure.
function said(frame, moment, role) {
  if (about.diff && (!byPurpose || !frame.parent || moment === CHANGE)) return [deltaSaid(frame, role)];
  const { bytes, blocks } = held(frame, moment, role);
  const all = held(WHOLE, moment, role).bytes;
  const session = perSession(frame, moment, role);
  const above = session && session.above ? `, above ${moments[about.base]}` : "";
  const each = session ? `${bytesSaid(session.bytes)}${blocksSaid(session.blocks)} per ${session.unit}${above}` : "";
  if (about.diff) return [`${bytesSaid(bytes / unitOf(frame, role).by)}${unitOf(frame, role).said}`, `${shareSaid(bytes, all)} of what is shown`, kinds.includes(frame.kind) ? frame.kind : ""].filter(Boolean);
  const sentences = session && session.bytes === bytes ? [each] : [`${bytesSaid(bytes)}${blocksSaid(blocks)}`, each];
  if (bytes !== all) sentences.push(`${shareSaid(bytes, all)} of what is shown`);
  if (frame.parent && by_bucket && kinds.includes(frame.kind)) sentences.push(frame.kind);
  return sentences.filter(Boolean);
}

// By bucket or area; in a comparison red where NEW holds more and blue where it holds less, the stronger the larger the share.
function colourOf(frame, role) {
  if (about.diff && !byPurpose) {
    const delta = deltaOf(frame, role);
    const most = Math.max(held(frame, 0, role).bytes, held(frame, 1, role).bytes);
    const strength = delta ? Math.round(25 + 75 * Math.min(1, Math.abs(delta) / most)) : 0;
    return `color-mix(in srgb, var(--flames-${delta > 0 ? "more" : "less"}) ${strength}%, var(--flames-same))`;
  }
  return frame.parent ? colourOfKind(kinds.indexOf(frame.kind)) : REST;
}

// A bucket's colour is that of the other pictures; areas have theirs by size.
function colourOfKind(kind) {
  if (by_bucket) return kind < 0 ? REST : about.looks[kinds[kind]].colour;
  return kind >= 0 && kind < AREAS ? `var(--a${kind})` : REST;
}

function labelOf(frame, role) {
  const label = frame.parent ? frame.name : role === "all" ? "all" : role;
  if (!about.diff || byPurpose) return label;
  const unit = unitOf(frame, role);
  const delta = deltaOf(frame, role) / unit.by;
  const mixed = role === "all" ? unit.said : "";
  return delta ? `${delta > 0 ? "▲" : "▼"} ${label} ${delta > 0 ? "+" : "−"}${bytesSaid(Math.abs(delta))}${mixed}` : label;
}

const paragraph = (text, kind) => Object.assign(document.createElement("p"), { textContent: text, className: kind || "" });
