// The flamegraph of one session at the end of one phase, drawn by flamegraph.js, and the same as rows of a table.
const REST = "var(--flames-rest)";
const trees = []; // as flamegraph.js has them, by number

// Python packs a node's caller as a difference, and what its bytes are for as a rule.
function treeAt(number) {
  const { callers, frames, rules, lines, held } = known.trees[number];
  const kinds = rules.map((rule) => (rule < 0 ? "other" : known.rules[rule][0]));
  const made = () => flames.treeOf({ names: known.names, frames: known.frames, callers: callers.map((less, node) => node - less), at: frames, lines, held, kinds });
  return (trees[number] ??= { ...made(), reasons: rules.map((rule) => (rule < 0 ? "" : known.rules[rule][1])) });
}

const countsFor = (role) => (owner) => role === "pair" || owner === role;

// `against`, where there is one, is what the difference is from: { tree, moment }.
const flameRoot = (shown, against, role, inverted) => flames.build(inverted ? `all of the ${sessionOf(role)}` : "pair", shown, countsFor(role), { against, inverted });

function sizeSaid(frame, root, differ) {
  if (differ) return frame.change ? `${whole(Math.abs(frame.change))} B ${frame.change > 0 ? "more" : "less"}` : "as much";
  const of = frame === root ? "" : `, ${share(frame.bytes, root.bytes)} of the session`;
  return `${whole(frame.bytes)} B in ${plural(whole(frame.blocks), "block")}${of}`;
}

const colourOf = (kind) => (!kind || kind === flames.SEVERAL ? REST : lookOf(kind).colour);
const colourOfChange = (change) => (change > 0 ? "var(--flames-more)" : change < 0 ? "var(--flames-less)" : REST);

// Draws into the host, and says of what is pointed at, or focused, in `line`; what is found, in `found`; and of a frame
// that is linked to and not there, in `note`. `chosen`: is told the frame that is shown alone.
function drawFlames({ host, line, found, note }, role, { shown, against, inverted, search, frame }, when, chosen) {
  const root = flameRoot(shown, against, role, inverted);
  const differ = Boolean(against);
  let alone = root;
  const say = (one) => {
    const kind = one.kind === flames.SEVERAL ? "for several purposes" : one.kind;
    line.replaceChildren(html("b", {}, one.full), ` · ${[sizeSaid(one, root, differ), kind, one.where].filter(Boolean).join(" · ")}`);
  };
  note.textContent = flames.missingSaid(root, frame, inverted ? [] : [shown, against].filter(Boolean).map((one) => one.tree), when);
  found.textContent = "";
  if (root.value <= 0) return void host.replaceChildren(html("p", {}, "Both hold the same here."));
  const drawing = flames.draw(host, root, {
    label: (one) => (one === root && inverted ? "all" : one.name),
    colour: (one) => (differ ? colourOfChange(one.change) : colourOf(one.kind)),
    aria: (one) => `${one.name}: ${sizeSaid(one, root, differ)}`,
    say: (one) => say(one ?? alone),
    chosen: (one) => {
      alone = one;
      note.textContent = "";
      chosen(one === root ? [] : flames.linkOf(one));
    },
  });
  alone = flames.find(root, frame).frame;
  if (alone !== root) drawing.show(alone);
  const hits = drawing.search(search);
  const bytes = flames.outermost(hits).reduce((sum, one) => sum + one.value, 0);
  if (search) found.textContent = hits.length ? `${whole(hits.length)} found: ${whole(bytes)} B, ${share(bytes, root.value)}` : "nothing found";
  found.classList.toggle("phases-hits", hits.length > 0);
  say(alone);
}

// Call sites, the largest first: who called the allocator, and who called that.
function sites(tree, moment, role) {
  const short = (node) => tree.nameOf(node).short;
  const found = tree.held.map((held, node) => ({ node, bytes: flames.heldAt(held, moment)[0], blocks: flames.heldAt(held, moment)[1] }));
  const counts = countsFor(role);
  const held = found.filter((one) => (one.bytes || one.blocks) && counts(tree.ownerOf(one.node)));
  held.sort((a, b) => b.bytes - a.bytes);
  return held.map(({ node, bytes, blocks }) => ({ bytes, blocks, path: flames.pathTo(tree, node).slice(1).reverse().map(short), where: flames.whereOf(tree, node), bucket: tree.kinds[node], why: tree.reasons[node] }));
}
