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

// How much two stacks share, and so by what their difference is drawn.
function sharedSaid(shared, entry, other) {
  const least = `${whole(100 * known.least_shared)} %`;
  const both = `${share(shared, 1)} of the bytes that libraries allocate are below a function that ${entry.stack} and ${other.stack} both call`;
  if (shared < known.least_shared) return `${both}. That is less than ${least}, so the difference is drawn by what the bytes are for.`;
  return `${both}; below ${least} the difference would be drawn by what the bytes are for. Red: ${entry.stack} holds more; blue: it holds less.`;
}

// The difference by what the bytes are for.
function drawPurposes({ host, line, found }, root, entry, other, parts, caption) {
  const [now, old] = parts;
  const bytesOf = (some, look) => some.find((one) => one.look === look)?.bytes ?? 0;
  const rows = known.buckets.map((look) => ({ name: look.bucket, colour: look.colour, bytes: bytesOf(now, look), other: bytesOf(old, look) }));
  host.replaceChildren(flames.purposes(caption, [entry.stack, other.stack], rows, (bytes) => `${whole(bytes)} B`));
  line.replaceChildren(html("b", {}, entry.stack), ` holds ${sizeSaid(root, root, true)} than ${other.stack}`);
  found.textContent = flameState.search || flameState.inverted ? "there are no functions here to search or invert" : "";
}

// Draws into the host, and says of what is pointed at, or focused, in `line`; what is found, in `found`; and of a frame
// that is linked to and not there, in `note`. `chosen`: is told the frame that is shown alone.
function drawFlames({ host, line, found, note, against: compared }, role, { shown, against, inverted, search, frame }, when, chosen) {
  const root = flameRoot(shown, against, role, inverted);
  const differ = Boolean(against);
  const shared = differ ? flames.sharedShare(inverted ? flameRoot(shown, against, role, false) : root) : 1;
  const byPurpose = shared < known.least_shared;
  compared.textContent = differ && root.value > 0 ? sharedSaid(shared, against.from, against.other) : "";
  note.textContent = "";
  if (byPurpose && root.value > 0) return drawPurposes({ host, line, found }, root, against.from, against.other, against.parts, `What the bytes of a ${sessionOf(role)} are for, ${when}`);
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
