// What the page knows: the tree of page_data.py, and sums over it by moment and role.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const about = read("about");
const { names, frames, kinds, by_bucket, nodes, owners, smaller } = read("tree");
const AT = { caller: 0, frame: 1, kind: 2, lines: 3, held: 4 };
const moments = about.moments;
const column = (at) => nodes.map((node) => node[at]);
const tree = flames.treeOf({ names, frames, callers: column(AT.caller), at: column(AT.frame), lines: column(AT.lines), held: column(AT.held), kinds: column(AT.kind).map((kind) => kinds[kind] ?? ""), byFunction: !by_bucket });

// A node's role is that of its ancestor on the first level; callers come before those that they call.
const roleOf = [];
nodes.forEach((node, at) => {
  roleOf[at] = at === 0 ? "all" : node[AT.caller] === 0 ? about.columns[owners[at]] : roleOf[node[AT.caller]];
});

// Of each node and all that it called. Blocks are NaN where the tool does not count them.
const sums = moments.map((_, moment) => {
  const bytes = new Float64Array(nodes.length);
  const blocks = new Float64Array(nodes.length);
  for (let at = nodes.length - 1; at >= 0; at--) {
    const [size, count] = flames.heldAt(nodes[at][AT.held], moment);
    bytes[at] += size;
    blocks[at] += count;
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
const WHOLE = { full: "all that is shown", parent: null, nodes: new Set(), where: "", kind: null }; // stands for the frame of all
const whoseOf = (frame, role) => (frame.parent ? roleOf[[...frame.nodes][0]] : role);

// Bytes and blocks of a frame; of all, those of one role, or those that are sessions'.
function held(frame, moment, role, counts = () => true) {
  const { bytes, blocks } = sums[moment];
  const parts = frame.parent ? [...frame.nodes] : firstLevel.filter((at) => isShown(at, role) && counts(roleOf[at]));
  const add = (of) => parts.reduce((sum, at) => sum + of[at], 0);
  return { bytes: add(bytes), blocks: add(blocks) };
}

// Per session: what a frame holds above `base`, by the sessions of its role; of both roles, by pairs.
// Null: that is not known, or what is held is no session's.
function perSession(frame, moment, role) {
  if (about.diff || !about.sessions || !about.of_sessions[moment]) return null;
  const whose = whoseOf(frame, role);
  if (whose !== "all" && !isSession(whose)) return null;
  const base = about.base === null ? null : held(frame, about.base, role, isSession);
  const now = held(frame, moment, role, isSession);
  const share = (of) => (now[of] - (base ? base[of] : 0)) / about.sessions;
  const unit = !about.roles ? "session" : whose === "all" ? "pair" : `${whose} session`;
  return { bytes: share("bytes"), blocks: share("blocks"), unit, above: base !== null && base.bytes > 0 };
}

// Bytes of each kind at a moment, of one role.
function byKind(moment, role) {
  const sizes = kinds.map(() => 0);
  nodes.forEach((node, at) => {
    if (at && node[AT.kind] >= 0 && isShown(at, role)) sizes[node[AT.kind]] += flames.heldAt(node[AT.held], moment)[0];
  });
  return sizes;
}

// The frames at a moment, of one role: none that holds nothing, and no root of one owner.
const framesAt = (moment, role) => flames.build("all", { tree, moment }, (owner) => role === "all" || about.columns[owner] === role);
