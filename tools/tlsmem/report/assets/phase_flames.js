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

function sizeSaid(sums, node, root) {
  const of = node === root ? "" : `, ${share(sums.bytes[node], sums.bytes[root])} of the session`;
  return `${whole(sums.bytes[node])} B in ${plural(whole(sums.blocks[node]), "block")}${of}`;
}

// As d3-flame-graph takes it; no node that holds nothing, and no root of one session.
function hierarchy(tree, sums) {
  const built = [{ node: 0, name: "pair", value: sums.bytes[0], children: [] }];
  for (let node = 1; node < tree.frames.length; node++) {
    const caller = built[node - tree.callers[node]];
    if (!caller || sums.bytes[node] <= 0) continue;
    built[node] = { node, name: nameOf(tree, node).short, value: sums.bytes[node], children: [] };
    caller.children.push(built[node]);
  }
  for (const one of built) one?.children.sort((a, b) => b.value - a.value);
  return built[0].children.length === 1 ? built[0].children[0] : built[0];
}

const colourOf = (kind) => (!kind || kind === "several" ? REST : lookOf(kind).colour);

// Draws into the host, and says of what is pointed at, or focused, in `line`.
function flames(host, line, tree, moment, role) {
  const sums = sumsOf(tree, moment, role);
  const data = hierarchy(tree, sums);
  const say = (node) => {
    const kind = sums.kinds[node] === "several" ? "for several purposes" : sums.kinds[node];
    line.replaceChildren(html("b", {}, nameOf(tree, node).name), ` · ${[sizeSaid(sums, node, data.node), kind, whereOf(tree, node)].filter(Boolean).join(" · ")}`);
  };
  const over = () => {};
  over.show = (event, d) => say(d.data.node);
  over.hide = over.destroy = () => say(data.node);
  const made = flamegraph.default().width(host.clientWidth).cellHeight(CELL).minFrameSize(1).transitionDuration(0).inverted(true).resetHeightOnZoom(true);
  made.tooltip(over).getName((d) => d.data.name).setColorMapper((d) => colourOf(sums.kinds[d.data.node])).setDetailsHandler(() => {});
  host.replaceChildren();
  d3.select(host).datum(data).call(made);
  made.onClick(() => framesByKeys(host, sums, data.node, say));
  say(data.node);
  framesByKeys(host, sums, data.node, say);
}

// One function is in the order of tabs; arrows go to who called, to the largest called, and to those beside it.
function framesByKeys(host, sums, root, say) {
  const groups = [...host.querySelectorAll("g.frame")];
  const dataOf = (group) => d3.select(group).datum();
  const of = new Map(groups.map((group) => [dataOf(group), group]));
  groups.forEach((group) => {
    const d = dataOf(group);
    filled(group, { role: "button", tabindex: d.data.node === root ? 0 : -1, "aria-label": `${d.data.name}: ${sizeSaid(sums, d.data.node, root)}` });
    group.onfocus = () => say(d.data.node);
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
