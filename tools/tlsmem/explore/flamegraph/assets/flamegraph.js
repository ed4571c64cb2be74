// The one flamegraph, of the report and of pages of one profile: a tree of call stacks becomes frames, which d3-flame-graph
// draws, searches and zooms. A page says what a frame is called, which colour it has, and what it has to say.
const flames = (() => {
  const CELL = 21; // pixels: the height of a frame
  const OURS = /^(memtest|harness-\w+)\//; // sources of the harnesses
  const SEVERAL = "several"; // the kind of a frame that holds bytes of several kinds

  // A tree as Python packs it. `callers`: each node's, who comes before it; `at`: its frame, a place in `frames`, which
  // are function, file, module, short and versionless name, as places in `names`; `lines`; `held`: moment, bytes and
  // blocks, again where they change; `kinds`: what a node's own bytes are for, or what its function is part of.
  function treeOf({ names, frames, callers, at, lines, held, kinds, byFunction = false }) {
    const known = [];
    const nameOf = (node) => (known[node] ??= named(frames[at[node]].map((one) => names[one])));
    const owners = callers.map((_, node) => node);
    callers.forEach((caller, node) => (owners[node] = node && caller ? owners[caller] : node));
    return { callers, lines, held, kinds, byFunction, nameOf, ownerOf: (node) => nameOf(owners[node]).name };
  }

  const named = ([name, file, module, short, stable]) => ({ name, file, module, short, stable });

  // An entry of `held` is good until the next. Blocks are NaN where the tool does not count them.
  function heldAt(held, moment) {
    let found = [0, 0];
    for (let at = 0; at < held.length && held[at] <= moment; at += 3) found = [held[at + 1], held[at + 2] ?? NaN];
    return found;
  }

  function whereOf(tree, node, most = 4) {
    const { file, module } = tree.nameOf(node);
    const lines = tree.lines[node];
    const some = lines.slice(0, most).join(", ") + (lines.length > most ? ", …" : "");
    return [file && (some ? `${file}:${some}` : file), module].filter(Boolean).join(" · ");
  }

  const newFrame = (name, parent = null) => ({ full: name, name, stable: name, where: "", parent, nodes: new Set(), bytes: 0, blocks: 0, old: 0, change: 0, own: 0, value: 0, kind: null, called: new Map(), children: [] });

  // From the outermost caller to the node.
  function pathTo(tree, node) {
    const found = [];
    for (let at = node; at; at = tree.callers[at]) found.push(at);
    return found.reverse();
  }

  // Adds what is held at a moment, by the owners that count, to the frames below `root`: callers first, or inverted,
  // whoever allocated first. `sign` is -1 for what a difference takes away; its frames are those of the same versionless
  // name, others those of the same whole name.
  function grow(root, { tree, moment }, counts, { inverted = false, differ = false, sign = 1 }) {
    tree.held.forEach((held, node) => {
      const [bytes, blocks] = heldAt(held, moment);
      if (!node || !(bytes || blocks) || !counts(tree.ownerOf(node))) return;
      const [owner, ...called] = pathTo(tree, node);
      const add = (frame, kind) => {
        frame.bytes += sign > 0 ? bytes : 0;
        frame.old += sign < 0 ? bytes : 0;
        frame.blocks += sign > 0 ? blocks : 0;
        frame.change += sign * bytes;
        frame.kind = !frame.kind || frame.kind === kind ? kind : SEVERAL;
      };
      let at = root;
      add(root, tree.kinds[node]);
      for (const one of inverted ? called.reverse() : [owner, ...called]) {
        at = frameOf(at, tree, one, differ ? "stable" : "name");
        at.nodes.add(one);
        add(at, tree.kinds[tree.byFunction ? one : node]);
      }
      at.own += sign * bytes;
    });
  }

  function frameOf(caller, tree, node, key) {
    const found = tree.nameOf(node);
    if (!caller.called.has(found[key])) caller.called.set(found[key], Object.assign(newFrame(found.name, caller), { name: found.short, stable: found.stable, where: whereOf(tree, node) }));
    return caller.called.get(found[key]);
  }

  // Widths: bytes; of a difference by how much they differ, more and less added up.
  function measure(frame, differ) {
    frame.children = [...frame.called.values()].map((one) => measure(one, differ)).filter((one) => one.value > 0);
    frame.children.sort((a, b) => b.value - a.value);
    frame.value = differ ? Math.abs(frame.own) + frame.children.reduce((sum, one) => sum + one.value, 0) : frame.bytes;
    return frame;
  }

  // `shown`, and `against`, where there is one, that the difference is from: { tree, moment }. The root of a single owner
  // is that owner's.
  function build(name, shown, counts, { against = null, inverted = false } = {}) {
    const [root, differ] = [newFrame(name), Boolean(against)];
    grow(root, shown, counts, { inverted, differ });
    if (against) grow(root, against, counts, { inverted, differ, sign: -1 });
    measure(root, differ);
    return !inverted && root.children.length === 1 ? root.children[0] : root;
  }

  // Of a difference: the share of the bytes of both that are below a function of a library that both call, of those that
  // are below any. Below a least share (call_tree.py) nothing can be compared frame by frame.
  function sharedShare(root) {
    const sum = [0, 0];
    const visit = (frame, depth) => {
      if (depth < 2 || OURS.test(frame.where)) return frame.called.forEach((one) => visit(one, depth + 1));
      sum[0] += frame.bytes && frame.old ? frame.bytes + frame.old : 0;
      sum[1] += frame.bytes + frame.old;
    };
    visit(root.parent ?? root, 0); // depth 1: whose memory it is
    return sum[1] ? sum[0] / sum[1] : 1;
  }

  // The difference of two stacks by what their bytes are for: a table whose bars are as long as the bytes. `rows`: name,
  // colour, and bytes of the one and of the other; `said(bytes)`: a number in words.
  function purposes(caption, names, rows, said) {
    const made = (tag, attributes, ...children) => {
      const element = document.createElement(tag);
      filledIn(element, attributes);
      element.append(...children);
      return element;
    };
    const most = Math.max(...rows.flatMap((row) => [row.bytes, row.other]));
    const bar = (kind, colour, bytes) => {
      const drawn = made("i", { class: kind });
      Object.assign(drawn.style, { width: `${(100 * bytes) / most}%`, background: colour, visibility: bytes ? "visible" : "hidden" });
      return drawn;
    };
    const changed = (row) => (row.bytes === row.other ? "as much" : `${said(Math.abs(row.bytes - row.other))} ${row.bytes > row.other ? "more" : "less"}`);
    const cells = (row) => [changed(row), said(row.bytes), said(row.other)].map((text) => made("td", {}, text));
    const swatch = (colour) => Object.assign(made("i", { class: "swatch" }), { style: `background: ${colour}` });
    const found = rows.filter((row) => row.bytes || row.other).sort((a, b) => Math.abs(b.bytes - b.other) - Math.abs(a.bytes - a.other));
    const body = found.map((row) => made("tr", {}, made("th", { scope: "row" }, swatch(row.colour), row.name), made("td", { class: "bars", "aria-hidden": "true" }, bar("now", row.colour, row.bytes), bar("other", row.colour, row.other)), ...cells(row)));
    const heading = (text) => made("th", { scope: "col" }, text);
    const sum = rows.reduce((all, row) => ({ bytes: all.bytes + row.bytes, other: all.other + row.other }), { bytes: 0, other: 0 });
    const head = made("tr", {}, ...["what the bytes are for", `upper bar: ${names[0]}; lower: ${names[1]}`, "difference", ...names].map(heading));
    const foot = made("tr", {}, made("th", { scope: "row" }, "all"), made("td", {}), ...cells(sum));
    const table = made("table", {}, made("thead", {}, head), made("tbody", {}, ...body), made("tfoot", {}, foot));
    const scrolled = made("div", { role: "region", tabindex: "0", "aria-label": caption }, table);
    return made("div", { class: "flames-purposes" }, made("p", {}, caption), scrolled);
  }

  // A term is a regular expression where it is one.
  function termOf(text) {
    if (!text) return null;
    try {
      return new RegExp(text, "i");
    } catch {
      return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
    }
  }

  // Draws the frames below `root` into the host. The page gives `label`, `colour` and `aria` of a frame; `say(frame)`,
  // called of what is pointed at or focused, and without a frame when nothing is; `point(event, frame)`, if it has
  // something to show beside the pointer; `chosen(frame)`, called of a frame that is shown alone. Returns what to do with it.
  function draw(host, root, { label, colour, aria, say, point = () => {}, chosen, up = false }) {
    const over = () => {};
    over.show = (event, d) => {
      say(d.data);
      point(event, d.data);
    };
    over.hide = over.destroy = () => {
      say(null);
      point(null, null);
    };
    let hits = [];
    const chart = window.flamegraph.default().width(host.clientWidth).cellHeight(CELL).minFrameSize(1).transitionDuration(0).inverted(!up).resetHeightOnZoom(true);
    chart.tooltip(over).getName((d) => label(d.data)).setDetailsHandler(() => {});
    chart.setColorMapper((d) => (d.highlight ? "var(--flames-hit)" : colour(d.data)));
    chart.setSearchMatch((d, term) => d.data !== root && (term.test(d.data.full) || term.test(d.data.where)));
    chart.setSearchHandler((found) => (hits = found.map((d) => d.data)));
    host.replaceChildren();
    d3.select(host).datum(root).call(chart);
    const ready = () => {
      host.classList.toggle("flames-searched", hits.length > 0);
      reachByKeys(host, root, { say, aria: (frame) => aria(frame) + (hits.includes(frame) ? ", found" : "") });
    };
    chart.onClick((d) => {
      ready();
      chosen(d.data);
    });
    ready();
    return {
      // Marks what the text finds, and returns those frames.
      search(text) {
        hits = [];
        if (text) chart.search(termOf(text));
        else chart.clear();
        ready();
        return hits;
      },
      // Shows this frame alone, as a click on it does, but tells nobody.
      show(frame) {
        chart.onClick(null);
        chart.zoomTo(d3.select(host).datum().find((d) => d.data === frame));
        chart.onClick((d) => {
          ready();
          chosen(d.data);
        });
        ready();
      },
    };
  }

  // The outermost of the frames that are found: what one of them called is a part of it.
  function outermost(hits) {
    const found = new Set(hits);
    return hits.filter((frame) => {
      for (let at = frame.parent; at; at = at.parent) if (found.has(at)) return false;
      return true;
    });
  }

  // A frame by the names of its callers and its own, the outermost first: versionless, so that a link leads to the same
  // frame in the page of a later release or recording; whole where one beside it has the same versionless name. Our own
  // drivers' functions are left out where they are not needed, since they are other functions in other recordings.
  function linkOf(frame) {
    const callers = [];
    for (let at = frame; at.parent; at = at.parent) callers.unshift(at);
    const names = (frames) => frames.map((one) => plain(isAlone(one) ? one.stable : one.full));
    const short = names(callers.filter((one) => one === frame || !isDriver(one.where)));
    return find(frame, short).frame === frame ? short : names(callers);
  }

  const isDriver = (file) => file.startsWith("harness-");
  const isAlone = (frame) => [...frame.parent.called.values()].filter((one) => one.stable === frame.stable).length === 1;
  const plain = (name) => name.replaceAll(";", ":"); // as in folded stacks, whose frames a ";" ends
  const writeLink = (link) => link.join(";");
  const readLink = (text) => (text ? text.split(";") : []);

  // The frame of a link, or the nearest of its callers that is there: then `missing` is the name of the first that is not.
  function find(root, link) {
    let at = root;
    while (at.parent) at = at.parent;
    for (const name of link) {
      const next = called(at, name);
      if (!next) return { frame: at.parent ? at : root, missing: name };
      at = next;
    }
    return { frame: at.parent ? at : root, missing: null };
  }

  // The frame of this name that a frame called, itself or through a driver's functions.
  function called(frame, name) {
    const own = (key) => frame.children.find((one) => plain(one[key]) === name);
    return own("full") ?? own("stable") ?? frame.children.filter((one) => isDriver(one.where)).map((one) => called(one, name)).find(Boolean);
  }

  // Whether the tree has the frame of a link at any moment.
  function isInTree(tree, link) {
    const reached = [new Set([0])]; // of each node, how much of the link may lead to it; callers come first
    return tree.callers.some((caller, node) => {
      if (!node) return link.length === 0;
      const { name, stable, file } = tree.nameOf(node);
      const matched = [...reached[caller]].filter((depth) => [name, stable].map(plain).includes(link[depth])).map((depth) => depth + 1);
      reached[node] = new Set([...matched, ...(isDriver(file) ? reached[caller] : [])]);
      return matched.includes(link.length);
    });
  }

  // What a page says of a link whose frame it does not show; nothing where it does. `when`: the moment, in words.
  function missingSaid(root, link, trees, when) {
    const { frame, missing } = find(root, link);
    if (missing === null) return "";
    const shown = frame.parent ? `Shown is the nearest of its callers that is there: ${frame.full}.` : "All is shown.";
    if (trees.some((tree) => isInTree(tree, link))) return `The function of this link, ${link.at(-1)}, holds nothing ${when}. ${shown}`;
    return `The function of this link, ${link.at(-1)}, is not in this flamegraph: there is no ${missing}. ${shown}`;
  }

  // One function is in the order of tabs; arrows go to who called, to the largest called, and to those beside it.
  function reachByKeys(host, root, { say, aria }) {
    filledIn(host.querySelector("svg"), { role: "group", "aria-label": "flamegraph" });
    const groups = [...host.querySelectorAll("g.frame")];
    const dataOf = (group) => d3.select(group).datum();
    const of = new Map(groups.map((group) => [dataOf(group), group]));
    groups.forEach((group) => {
      const d = dataOf(group);
      filledIn(group, { role: "button", tabindex: d.data === root ? 0 : -1, "aria-label": aria(d.data) });
      group.onfocus = () => say(d.data);
      group.onkeydown = (event) => {
        const beside = (d.parent?.children ?? []).filter((one) => of.has(one));
        const at = beside.indexOf(d);
        const to = { ArrowUp: d.parent, ArrowDown: d.children?.[0], ArrowLeft: beside[at - 1], ArrowRight: beside[at + 1] }[event.key];
        if (event.key === "Enter" || event.key === " ") group.dispatchEvent(new MouseEvent("click", { bubbles: true }));
        else if (!event.key.startsWith("Arrow")) return;
        event.preventDefault();
        event.stopPropagation();
        if (of.has(to)) focusOn(groups, of.get(to));
      };
    });
  }

  const filledIn = (element, attributes) => Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));

  function focusOn(groups, group) {
    groups.forEach((one) => one.setAttribute("tabindex", one === group ? 0 : -1));
    group.focus();
  }

  return { SEVERAL, treeOf, heldAt, whereOf, pathTo, build, draw, outermost, sharedShare, purposes, linkOf, writeLink, readLink, find, missingSaid };
})();
