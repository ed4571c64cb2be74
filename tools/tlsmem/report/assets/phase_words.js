// What this section knows, and how it says so.
const { filled, html, svg, whole, tenth, share, plural, quotient, unitOf, ticks, showTip, hideTip, marks, table, command, quoted, option, onWidth } = report.charts;
const ROLES = ["client", "server", "pair"];
const element = (id) => document.getElementById(id);
let known = null; // what was packed

const readable = (phase) => known.readable[phase] ?? phase;
const sessionOf = (role) => (role === "pair" ? "pair" : `${role} session`);
const lookOf = (bucket) => known.buckets.find((one) => one.bucket === bucket);

// Bytes and blocks of one session: a quotient, exact; null where the run has no such phase.
function figure(of, kind, at) {
  const found = of?.[kind]?.[at];
  if (!found) return null;
  const [bytes, blocks] = found;
  const said = `${quotient(bytes, of.sessions)} B in ${plural(quotient(blocks, of.sessions), "block")}`;
  return { bytes: bytes / of.sessions, blocks: blocks / of.sessions, amount: bytes, over: of.sessions, said };
}

// The peak of one session alone within a phase; of a pair there is none, since its two sessions peak at other moments.
function alone(entry, role, at) {
  const found = role !== "pair" && entry.roles[role]?.alone?.[at];
  return found ? { bytes: found[0], said: `${whole(found[0])} B in ${plural(whole(found[1]), "block")}` } : null;
}

// At the end of a phase, or at the peak of one session alone. Of a pair they are its two sessions'.
function buckets(entry, role, at, kind = "buckets") {
  const roles = role === "pair" ? ["client", "server"] : [role];
  if (!roles.every((one) => entry.roles[one]?.[kind])) return null;
  const sums = new Map();
  for (const [bucket, bytes, blocks] of roles.flatMap((one) => entry.roles[one][kind][at])) {
    const [size, count] = sums.get(bucket) ?? [0, 0];
    sums.set(bucket, [size + bytes, count + blocks]);
  }
  return known.buckets.filter((one) => sums.has(one.bucket)).map((look) => ({ look, bytes: sums.get(look.bucket)[0], blocks: sums.get(look.bucket)[1] }));
}

// What a session costs beyond what the one pair holds whose call stacks were kept: signatures differ in length, tables grow.
function beyond(entry, role, at) {
  const now = figure(entry.roles[role], "live", at);
  const parts = buckets(entry, role, at);
  if (!now || !parts) return null;
  const bytes = now.amount - parts.reduce((sum, one) => sum + one.bytes, 0) * now.over;
  const blocks = entry.roles[role].live[at][1] - parts.reduce((sum, one) => sum + one.blocks, 0) * now.over;
  return { bytes, blocks, over: now.over };
}

function rssSaid(entry, role, at, rss) {
  const of = rss && entry.roles[role]?.rss[rss];
  const bytes = of?.bytes?.[at];
  return bytes === null || bytes === undefined ? "" : `RSS, ${rss}: ${whole(bytes)} B per ${sessionOf(role)}`;
}

// Of a phase: for its name to a screen reader, and beside the pointer.
function lines(entry, role, at, rss) {
  const of = entry.roles[role];
  const [now, most, single] = [figure(of, "live", at), figure(of, "peak", at), alone(entry, role, at)];
  const parts = (buckets(entry, role, at) ?? []).filter((one) => one.bytes).sort((a, b) => b.bytes - a.bytes);
  return [
    now ? `${now.said} per ${sessionOf(role)}` : of?.why ? `live heap is not known: ${of.why}` : "the heap runs end before this phase",
    of?.notes?.[at] ?? "",
    most && most.bytes > (now?.bytes ?? 0) ? `at the peak of the phase, one more of many: ${most.said}` : "",
    single && single.bytes > (now?.bytes ?? 0) ? `at the peak of the phase, one session alone: ${single.said}` : "",
    rssSaid(entry, role, at, rss),
    parts.length ? parts.slice(0, 4).map((one) => `${one.look.bucket} ${whole(one.bytes)} B`).join("; ") + (parts.length > 4 ? "; …" : "") : "",
  ];
}

// Where figures are from, below a chart.
function madeOf(entry, role, rss) {
  const of = entry.roles[role];
  const kept = of?.one_pair ? `of one pair, no slope: ${of.one_pair}` : of?.from ? `exact, from heap runs of N = ${of.from}` : of?.why ?? "";
  const line = rss && of?.rss[rss];
  const run = line && { split: "a process for each role", together: "both ends in one process" }[line.of];
  const why = rss && !line ? `RSS, ${rss}: not told apart here: no RSS runs ${role === "pair" ? "with both ends in one process" : "with a process for each role"}` : "";
  const slope = line && (line.why ?? `slope over N = ${line.from}, ${run}`);
  const sites = entry.pair_of ? `buckets and call stacks: one pair of N = ${whole(entry.pair_of)}` : "no sites run, so no buckets";
  return [kept && `live heap: ${kept}`, sites, line ? `RSS, ${rss}: ${slope}` : why, line?.note ?? ""].filter(Boolean).join(" · ");
}
