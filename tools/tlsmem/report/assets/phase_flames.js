// The flamegraph of one session at the end of one phase, drawn by d3-flame-graph, and the same as rows of a table.
const CELL = 21;
const REST = "var(--phases-rest)";

// Sums over a tree at a moment: bytes and blocks of each node with all that it called, of one role or of both.
function sumsOf(tree, moment, role) {
  const count = tree.frames.length;
  const [bytes, blocks] = [new Float64Array(count), new Float64Array(count)];
  const [own, kinds, roles] = [[], [], []];
  for (let node = 0; node < count; node++) {
    const caller = node - tree.callers[node];
    roles[node] = node === 0 ? "all" : caller === 0 ? nameOf(tree, node).name : roles[caller];
    own[node] = role === "pair" || roles[node] === role ? heldAt(tree.held[node], moment) : [0, 0];
    kinds[node] = own[node][0] ? bucketOf(tree, node) : null;
  }
  for (let node = count - 1; node >= 0; node--) {
    bytes[node] += own[node][0];
    blocks[node] += own[node][1];
    const caller = node - tree.callers[node];
    if (!node) continue;
    bytes[caller] += bytes[node];
    blocks[caller] += blocks[node];
    if (kinds[node]) kinds[caller] = !kinds[caller] || kinds[caller] === kinds[node] ? kinds[node] : "several";
  }
  return { bytes, blocks, own, kinds };
}

// An entry of `held` is good until the next.
function heldAt(held, moment) {
  let found = [0, 0];
  for (let at = 0; at < held.length && held[at] <= moment; at += 3) found = [held[at + 1], held[at + 2]];
  return found;
}

function nameOf(tree, node) {
  const [name, file, module, short] = known.frames[tree.frames[node]].map((at) => known.names[at]);
  return { name, file, module, short };
}

const bucketOf = (tree, node) => (tree.rules[node] < 0 ? "other" : known.rules[tree.rules[node]][0]);
const reasonOf = (tree, node) => (tree.rules[node] < 0 ? "" : known.rules[tree.rules[node]][1]);

function whereOf(tree, node) {
  const { file, module } = nameOf(tree, node);
  const [some, more] = [tree.lines[node].slice(0, 4).join(", "), tree.lines[node].length > 4 ? ", …" : ""];
  return [file && (some ? `${file}:${some}${more}` : file), module].filter(Boolean).join(" · ");
}

// What is held by call stack at a moment: nodes from the outermost caller, bytes, blocks and bucket.
function callStacks(tree, moment, role) {
  const { own, kinds } = sumsOf(tree, moment, role);
  const path = (node) => (node === 0 ? [] : [...path(node - tree.callers[node]), node]);
  return own.flatMap(([bytes, blocks], node) => {
    if (!bytes && !blocks) return [];
    const frames = path(node).map((one) => ({ ...nameOf(tree, one), where: whereOf(tree, one) }));
    return [{ frames, bytes, blocks, kind: kinds[node] === "several" ? bucketOf(tree, node) : kinds[node] }];
  });
}

const newFrame = (name, short, where, parent) => ({ name: short, full: name, where, parent, bytes: 0, blocks: 0, change: 0, own: 0, value: 0, kind: null, called: new Map(), children: [] });

// One tree of call stacks: callers first, or, inverted, whoever allocated first. `sign` is -1 for those that are
// taken away, of a difference.
function grow(root, stacks, inverted, sign = 1) {
  for (const { frames, bytes, blocks, kind } of stacks) {
    const [owner, ...called] = frames;
    const order = inverted ? called.reverse() : [owner, ...called];
    let at = root;
    const add = (one) => {
      one.bytes += bytes;
      one.blocks += blocks;
      one.change += sign * bytes;
      one.kind = !one.kind || one.kind === kind ? kind : "several";
    };
    add(root);
    for (const { name, short, where } of order) {
      if (!at.called.has(name)) at.called.set(name, newFrame(name, short, where, at));
      at = at.called.get(name);
      add(at);
    }
    at.own += sign * bytes;
  }
  return root;
}

// Widths: bytes; of a difference by how much they differ, more and less added up.
function measured(frame, differ) {
  frame.children = [...frame.called.values()].map((one) => measured(one, differ)).filter((one) => one.value > 0);
  frame.children.sort((a, b) => b.value - a.value);
  frame.value = differ ? Math.abs(frame.own) + frame.children.reduce((sum, one) => sum + one.value, 0) : frame.bytes;
  return frame;
}

// `against`, where there is one, is what the difference is from: { tree, moment }.
function flameTree(shown, against, role, inverted) {
  const root = grow(newFrame(inverted ? `all of the ${sessionOf(role)}` : "pair", inverted ? "all" : "pair", "", null), callStacks(shown.tree, shown.moment, role), inverted);
  if (against) grow(root, callStacks(against.tree, against.moment, role), inverted, -1);
  measured(root, Boolean(against));
  return !inverted && root.children.length === 1 ? root.children[0] : root;
}

function sizeSaid(frame, root, differ) {
  if (differ) return frame.change ? `${whole(Math.abs(frame.change))} B ${frame.change > 0 ? "more" : "less"}` : "as much";
  const of = frame === root ? "" : `, ${share(frame.bytes, root.bytes)} of the session`;
  return `${whole(frame.bytes)} B in ${plural(whole(frame.blocks), "block")}${of}`;
}

const colourOf = (kind) => (!kind || kind === "several" ? REST : lookOf(kind).colour);
const colourOfChange = (change) => (change > 0 ? "var(--phases-more)" : change < 0 ? "var(--phases-less)" : REST);

// A term is a regular expression where it is one.
function termOf(text) {
  if (!text) return null;
  try {
    return new RegExp(text, "i");
  } catch {
    return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  }
}

const matches = (frame, term) => term !== null && (term.test(frame.full) || term.test(frame.where));

// Bytes below the outermost frames that are found, and how many frames those are.
function foundIn(frame, term) {
  if (matches(frame, term)) return [frame.value, 1];
  return frame.children.map((one) => foundIn(one, term)).reduce(([bytes, count], [more, others]) => [bytes + more, count + others], [0, 0]);
}

// Draws into the host, and says of what is pointed at, or focused, in `line`; what is found, in `found`.
function flames(host, line, found, role, { shown, against, inverted, search }) {
  const data = flameTree(shown, against, role, inverted);
  const [differ, term] = [Boolean(against), termOf(search)];
  const say = (frame) => {
    const kind = frame.kind === "several" ? "for several purposes" : frame.kind;
    line.replaceChildren(html("b", {}, frame.full), ` · ${[sizeSaid(frame, data, differ), kind, frame.where].filter(Boolean).join(" · ")}`);
  };
  const over = () => {};
  over.show = (event, d) => say(d.data);
  over.hide = over.destroy = () => say(data);
  const colour = (frame) => (matches(frame, term) ? "var(--phases-match)" : differ ? colourOfChange(frame.change) : colourOf(frame.kind));
  const made = flamegraph.default().width(host.clientWidth).cellHeight(CELL).minFrameSize(1).transitionDuration(0).inverted(true).resetHeightOnZoom(true);
  made.tooltip(over).getName((d) => d.data.name).setColorMapper((d) => colour(d.data)).setDetailsHandler(() => {});
  host.replaceChildren();
  const [bytes, count] = term ? foundIn(data, term) : [0, 0];
  found.textContent = !term ? "" : count ? `${whole(count)} found: ${whole(bytes)} B, ${share(bytes, data.value)}` : "nothing found";
  if (data.value <= 0) return void host.append(html("p", {}, "Both hold the same here."));
  d3.select(host).datum(data).call(made);
  made.onClick(() => framesByKeys(host, data, say, differ));
  say(data);
  framesByKeys(host, data, say, differ);
}

// One function is in the order of tabs; arrows go to who called, to the largest called, and to those beside it.
function framesByKeys(host, root, say, differ) {
  host.querySelector("svg").setAttribute("role", "group");
  host.querySelector("svg").setAttribute("aria-label", "flamegraph");
  const groups = [...host.querySelectorAll("g.frame")];
  const dataOf = (group) => d3.select(group).datum();
  const of = new Map(groups.map((group) => [dataOf(group), group]));
  groups.forEach((group) => {
    const d = dataOf(group);
    filled(group, { role: "button", tabindex: d.data === root ? 0 : -1, "aria-label": `${d.data.name}: ${sizeSaid(d.data, root, differ)}` });
    group.onfocus = () => say(d.data);
    group.onkeydown = (event) => {
      const beside = (d.parent?.children ?? []).filter((one) => of.has(one));
      const at = beside.indexOf(d);
      const to = { ArrowUp: d.parent, ArrowDown: d.children?.[0], ArrowLeft: beside[at - 1], ArrowRight: beside[at + 1] }[event.key];
      if (event.key === "Enter" || event.key === " ") group.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      else if (!event.key.startsWith("Arrow")) return;
      event.preventDefault();
      if (of.has(to)) focusOn(groups, of.get(to));
    };
  });
}

function focusOn(groups, group) {
  groups.forEach((one) => one.setAttribute("tabindex", one === group ? 0 : -1));
  group.focus();
}

// Call sites, the largest first: who called the allocator, and who called that.
function sites(tree, moment, role) {
  const sums = sumsOf(tree, moment, role);
  const path = (node) => (node - tree.callers[node] === 0 ? [] : [nameOf(tree, node).short, ...path(node - tree.callers[node])]);
  const found = sums.own.map(([bytes, blocks], node) => ({ node, bytes, blocks })).filter((one) => one.bytes || one.blocks);
  found.sort((a, b) => b.bytes - a.bytes);
  return found.map(({ node, bytes, blocks }) => ({ bytes, blocks, path: path(node), where: whereOf(tree, node), bucket: bucketOf(tree, node), why: reasonOf(tree, node) }));
}
