// What stands below the charts of the phase that is chosen: its flamegraph, its buckets, its call sites.
const SITES = 40; // rows of the table of call sites; the rest is one more

function inspected(entry, phase, role, more) {
  const of = role === "pair" ? "" : ` --role ${role}`;
  return `tools/inspect_heaptrack.py ${known.recordings[entry.recording].path} --stack ${quoted(entry.stack)} --suite ${quoted(entry.suite)} --phase ${quoted(readable(phase))}${of} ${more}`;
}

// Reasons of a bucket: those of the rules that took its bytes, with what each took where it is not all.
function reasons(found, look) {
  const whys = new Map();
  for (const one of found.filter((site) => site.bucket === look.bucket && site.why)) whys.set(one.why, (whys.get(one.why) ?? 0) + one.bytes);
  const ordered = [...whys].sort((a, b) => b[1] - a[1]);
  return ordered.length > 1 ? ordered.map(([why, bytes]) => `${why.replace(/\.$/, "")} (${whole(bytes)} B).`) : ordered.map(([why]) => why);
}

// Figures, and below them what is said of them, as wide as the table.
function bucketRows(bucket, head, numbers, ...said) {
  return html("tbody", { "data-bucket": bucket }, html("tr", {}, head, ...numbers), html("tr", {}, html("td", { class: "text", colspan: 4 }, ...said)));
}

function bucketRow(one, all, found) {
  const swatch = svg("svg", { width: 14, height: 14, "aria-hidden": "true" }, svg("rect", { width: 14, height: 14, fill: fillOf(one.look), stroke: "var(--line)" }));
  const why = reasons(found, one.look);
  const head = html("th", { scope: "row" }, swatch, ` ${one.look.bucket}`);
  const numbers = [whole(one.bytes), whole(one.blocks), share(one.bytes, all)].map((text) => html("td", {}, text));
  return bucketRows(one.look.bucket, head, numbers, html("span", { class: "phases-means" }, one.look.means), ...why.map((text) => html("p", {}, text)));
}

// Sums to what a session costs: what one pair holds, and what sessions cost beyond it.
function bucketTable(entry, role, at, found) {
  const [now, parts, more] = [figure(entry.roles[role], "live", at), buckets(entry, role, at), beyond(entry, role, at)];
  const rows = parts.filter((one) => one.bytes || one.blocks).sort((a, b) => b.bytes - a.bytes).map((one) => bucketRow(one, now?.bytes ?? 0, found));
  if (more && (more.bytes || more.blocks)) {
    const numbers = [quotient(more.bytes, more.over), quotient(more.blocks, more.over), share(more.bytes / more.over, now.bytes)].map((text) => html("td", {}, text));
    const why = "what sessions cost on average beyond the one pair whose call stacks were kept: lengths of signatures, tables that grow with N";
    rows.push(bucketRows("", html("th", { scope: "row" }, "not in the call stacks"), numbers, why));
  }
  const sum = now && [quotient(now.amount, now.over), quotient(entry.roles[role].live[at][1], now.over), "100 %"].map((text) => html("td", {}, text));
  const head = ["bucket", "bytes", "blocks", "share"].map((text) => html("th", { scope: "col" }, text));
  const made = html("table", {}, html("caption", {}, `Buckets: what the bytes of a ${sessionOf(role)} are for`), html("thead", {}, html("tr", {}, ...head)), ...rows);
  if (sum) made.append(html("tfoot", {}, html("tr", {}, html("th", { scope: "row" }, "all"), ...sum)));
  return html("div", { class: "charts-table phases-buckets", role: "region", tabindex: 0, "aria-label": "buckets" }, made);
}

function siteTable(found, caption) {
  const row = (one) => [one.path.slice(0, 4).join(" < ") || "(no call stack)", whole(one.bytes), whole(one.blocks), one.bucket, one.where];
  const [shown, rest] = [found.slice(0, SITES), found.slice(SITES)];
  const add = (of, key) => whole(of.reduce((sum, one) => sum + one[key], 0));
  const rows = shown.map(row);
  if (rest.length) rows.push([`${whole(rest.length)} others`, add(rest, "bytes"), add(rest, "blocks"), "", ""]);
  const made = table(caption, ["who allocated", "bytes", "blocks", "bucket", "where"], rows, ["all", add(found, "bytes"), add(found, "blocks"), "", ""]);
  return html("details", { class: "phases-sites" }, html("summary", {}, "the flamegraph as a table of call sites"), made);
}

function withoutTree(entry) {
  const said = "There is no sites run of this stack in this suite, so it is not known who allocated.";
  if (entry.unprofiled) return [html("p", {}, `${said} None can be taken: ${entry.unprofiled}.`)];
  return [html("p", {}, `${said} This command takes one:`), command(entry.profile)];
}

// What the flamegraph shows: the phase of this stack, or its difference from the same phase of the other chart's stack.
function flameChoice(entry, tree, { at }, other) {
  const moment = other ? other.phases.indexOf(entry.phases[at]) : -1;
  const against = flameState.against && comparable(other, entry.phases[at]) ? { tree: known.trees[other.tree], moment } : null;
  return { ...flameState, shown: { tree, moment: at }, against };
}

const comparable = (other, phase) => other && other.tree !== null && other.phases.includes(phase);

function flameTools(phase, other, count, redraw) {
  const search = Object.assign(html("input", { type: "search", placeholder: "search functions and files", "aria-label": "search the flamegraph" }), { value: flameState.search });
  const check = (key, label, hidden = false) => {
    const box = Object.assign(html("input", { type: "checkbox" }), { checked: flameState[key] });
    box.addEventListener("change", () => chosen({ [key]: box.checked }));
    return hidden ? null : html("label", { class: "charts-check" }, box, label);
  };
  const chosen = (what) => {
    Object.assign(flameState, what);
    redraw();
    keepAddress();
  };
  search.addEventListener("input", () => chosen({ search: search.value }));
  const difference = other ? `difference from ${other.stack} (red: more here, blue: less)` : "";
  return html("div", { class: "charts-choice phases-tools" }, search, check("inverted", "inverted: who allocated first, callers below"), check("against", difference, !comparable(other, phase)), count);
}

// state: role, at, rss; other: the entry of the other chart; close() when it is to go away. Returns what draws the flamegraph once it has a width.
function details(host, entry, state, other, close) {
  const [phase, tree] = [entry.phases[state.at], entry.tree === null ? null : known.trees[entry.tree]];
  const shut = html("button", { type: "button", class: "charts-plain phases-close" }, "close");
  shut.addEventListener("click", close);
  const said = lines(entry, state.role, state.at, state.rss).slice(0, 4).filter(Boolean);
  host.replaceChildren(html("h3", {}, `${entry.stack}, ${entry.suite}, ${sessionOf(state.role)}, at the end of ${readable(phase)}`, shut), html("p", { class: "phases-said" }, said.join(" · ")));
  if (!buckets(entry, state.role, state.at)) return void host.append(...withoutTree(entry));
  const found = tree ? sites(tree, state.at, state.role) : [];
  const [figureHost, line, count] = [html("div", { class: "phases-flames" }), html("p", { class: "phases-line" }), html("output", { class: "phases-found" })];
  const redraw = () => flames(figureHost, line, count, state.role, flameChoice(entry, tree, state, other));
  const { unflamed } = report.data("phases");
  const drawn = !unflamed && found.some((one) => one.bytes);
  if (unflamed) host.append(html("p", {}, unflamed));
  else if (drawn) host.append(flameTools(phase, other, count, redraw), line, figureHost);
  else host.append(html("p", {}, tree ? `A ${sessionOf(state.role)} holds nothing at the end of this phase.` : "This page in one file has the call stacks of each library's newest release only. tools/report.py --format files writes a page with all of them; the command below shows these."));
  host.append(html("p", { class: "phases-reading" }, "The width of a function is what it and all that it called hold at the end of the phase, in one session whose every call stack was kept. A peak within a phase has no call stacks."));
  host.append(bucketTable(entry, state.role, state.at, found));
  if (found.length) host.append(siteTable(found, `Call sites of one ${sessionOf(state.role)}: ${readable(phase)}`));
  host.append(command(inspected(entry, phase, state.role, "--flamegraph flames.html")));
  if (drawn) onWidth(figureHost, redraw);
}
