// What the page knows: the tree of page_data.py, and sums over it by moment and role.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const about = read("about");
const { names, frames, kinds, by_bucket, nodes, owners, smaller } = read("tree");
const AT = { caller: 0, frame: 1, kind: 2, lines: 3, held: 4 };
const moments = about.moments;

// A node's role is that of its ancestor on the first level; callers come before those that they call.
const roleOf = [];
nodes.forEach((node, at) => {
  roleOf[at] = at === 0 ? "all" : node[AT.caller] === 0 ? about.columns[owners[at]] : roleOf[node[AT.caller]];
});

// What a node itself holds: an entry of `held` is good until the next.
function own(node, moment) {
  let found = [0, 0];
  const held = nodes[node][AT.held];
  for (let at = 0; at < held.length && held[at] <= moment; at += 3) found = [held[at + 1], held[at + 2]];
  return found;
}

// Of each node and all that it called. Blocks are NaN where the tool does not count them.
const sums = moments.map((_, moment) => {
  const bytes = new Float64Array(nodes.length);
  const blocks = new Float64Array(nodes.length);
  for (let at = nodes.length - 1; at >= 0; at--) {
    const [size, count] = own(at, moment);
    bytes[at] += size;
    blocks[at] += count === null ? NaN : count;
    if (at) {
      bytes[nodes[at][AT.caller]] += bytes[at];
      blocks[nodes[at][AT.caller]] += blocks[at];
    }
  }
  return { bytes, blocks };
});

const isShown = (node, role) => role === "all" || roleOf[node] === role;
const firstLevel = Object.keys(owners).map(Number);
const isSession = (whose) => !about.roles || about.session_roles.includes(whose);

// Bytes and blocks of a node; of the root, those of one role, or those that are sessions'.
function held(node, moment, role, counts = () => true) {
  const { bytes, blocks } = sums[moment];
  const parts = node === 0 ? firstLevel.filter((at) => isShown(at, role) && counts(roleOf[at])) : [node];
  const add = (of) => parts.reduce((sum, at) => sum + of[at], 0);
  return { bytes: add(bytes), blocks: add(blocks) };
}

// Per session: what a node holds above `base`, by the sessions of its role; of both roles, by pairs.
// Null: that is not known, or what is held is no session's.
function perSession(node, moment, role) {
  if (about.diff || !about.sessions || !about.of_sessions[moment]) return null;
  const whose = node === 0 ? role : roleOf[node];
  if (whose !== "all" && !isSession(whose)) return null;
  const base = about.base === null ? null : held(node, about.base, role, isSession);
  const now = held(node, moment, role, isSession);
  const share = (of) => (now[of] - (base ? base[of] : 0)) / about.sessions;
  const unit = !about.roles ? "session" : whose === "all" ? "pair" : `${whose} session`;
  return { bytes: share("bytes"), blocks: share("blocks"), unit, above: base !== null && base.bytes > 0 };
}

function frameOf(node) {
  const [name, file, module, short] = frames[nodes[node][AT.frame]].map((at) => names[at]);
  return { name, file, module, short };
}

// The kind whose colour a node has: its own; by bucket that of all it holds, where this is one. -1: several, or none.
const MIXED = -1;
const kindOf = nodes.map((node) => node[AT.kind]);
if (by_bucket) {
  const unknown = nodes.map((node) => node[AT.kind] < 0);
  for (let at = nodes.length - 1; at > 0; at--) {
    const caller = nodes[at][AT.caller];
    if (unknown[caller]) kindOf[caller] = kindOf[at];
    else if (kindOf[caller] !== kindOf[at]) kindOf[caller] = MIXED;
    unknown[caller] = false;
  }
}

// Bytes of each kind at a moment, of one role.
function byKind(moment, role) {
  const sizes = kinds.map(() => 0);
  nodes.forEach((node, at) => {
    if (at && node[AT.kind] >= 0 && isShown(at, role)) sizes[node[AT.kind]] += own(at, moment)[0];
  });
  return sizes;
}

// The figure at a moment, of one role, as d3-flame-graph takes it: no node that holds nothing, and no root of one owner.
function figure(moment, role) {
  const bytes = sums[moment].bytes;
  const built = nodes.map(() => null);
  built[0] = { node: 0, name: "all", value: held(0, moment, role).bytes, children: [] };
  for (let at = 1; at < nodes.length; at++) {
    const caller = built[nodes[at][AT.caller]];
    if (!caller || bytes[at] <= 0 || !isShown(at, role)) continue;
    built[at] = { node: at, name: frameOf(at).short, value: bytes[at], children: [] };
    caller.children.push(built[at]);
  }
  for (const one of built) if (one) one.children.sort((a, b) => b.value - a.value);
  return built[0].children.length === 1 ? built[0].children[0] : built[0];
}
