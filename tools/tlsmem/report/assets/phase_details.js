// What stands below the charts of the phase that is chosen: its flamegraph, its buckets, its call sites.
const SITES = 40; // rows of the table of call sites; the rest is one more

function inspected(entry, moment, role, more) {
  const of = role === "pair" ? "" : ` --role ${role}`;
  return `tools/tls-memtest heap read ${known.recordings[entry.recording].path} --stack ${quoted(entry.stack)} --suite ${quoted(entry.suite)} --phase ${quoted(moment)}${of} ${more}`;
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

// Sums to what a session costs: what one pair holds, and what sessions cost beyond it; or, at the peak of one session
// alone, to what that one holds.
function bucketTable(entry, role, at, found, single) {
  const of = single ? { live: entry.roles[role].alone, sessions: 1 } : entry.roles[role];
  const parts = buckets(entry, role, at, single ? "alone_buckets" : "buckets");
  const [now, more] = [figure(of, "live", at), single ? null : beyond(entry, role, at)];
  const rows = parts.filter((one) => one.bytes || one.blocks).sort((a, b) => b.bytes - a.bytes).map((one) => bucketRow(one, now?.bytes ?? 0, found));
  if (more && (more.bytes || more.blocks)) {
    const numbers = [quotient(more.bytes, more.over), quotient(more.blocks, more.over), share(more.bytes / more.over, now.bytes)].map((text) => html("td", {}, text));
    const why = "what sessions cost on average beyond the one pair whose call stacks were kept: lengths of signatures, tables that grow with N";
    rows.push(bucketRows("", html("th", { scope: "row" }, "not in the call stacks"), numbers, why));
  }
  const sum = now && [quotient(now.amount, now.over), quotient(of.live[at][1], now.over), "100 %"].map((text) => html("td", {}, text));
  const head = ["bucket", "bytes", "blocks", "share"].map((text) => html("th", { scope: "col" }, text));
  const made = html("table", {}, html("caption", {}, `Buckets: what the bytes of ${single ? `one ${sessionOf(role)} alone` : `a ${sessionOf(role)}`} are for`), html("thead", {}, html("tr", {}, ...head)), ...rows);
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

// A tree has the ends of the phases, and after these the peaks of one session alone.
const momentOf = (entry, at, single) => (single ? at + entry.phases.length : at);

// What the flamegraph shows: the phase of this stack, or its difference from the same phase of the other chart's stack.
function flameChoice(entry, tree, { at, role }, other, single) {
  const kind = single ? "alone_buckets" : "buckets";
  const there = comparable(other, entry.phases[at], role, single) ? other.phases.indexOf(entry.phases[at]) : -1;
  const against = flameState.against && there >= 0 ? { tree: treeAt(other.tree), moment: momentOf(other, there, single), from: entry, other, parts: [buckets(entry, role, at, kind), buckets(other, role, there, kind)] } : null;
  return { ...flameState, shown: { tree, moment: momentOf(entry, at, single) }, against };
}

function comparable(other, phase, role, single) {
  if (!other || other.tree === null || !other.phases.includes(phase)) return false;
  return !single || alone(other, role, other.phases.indexOf(phase)) !== null;
}

// Which moment of the phase is shown.
function momentChoice(entry, state, redrawn) {
  if (!alone(entry, state.role, state.at)) return null;
  const choice = (single, text) => {
    const made = html("button", { type: "button", "aria-pressed": String(flameState.peak === single) }, text);
    made.addEventListener("click", () => redrawn({ peak: single }));
    return made;
  };
  const both = [choice(false, "at the end of the phase"), choice(true, "at its peak, one session alone")];
  const group = html("div", { class: "charts-switch", role: "group", "aria-label": "moment" }, ...both);
  return html("div", { class: "charts-choice phases-moment" }, group);
}

function flameTools(phase, other, count, redraw, role, single) {
  const search = Object.assign(html("input", { type: "search", placeholder: "search functions and files", "aria-label": "search the flamegraph" }), { value: flameState.search });
  const check = (key, label, hidden = false) => {
    const box = Object.assign(html("input", { type: "checkbox" }), { checked: flameState[key] });
    box.addEventListener("change", () => chosen({ [key]: box.checked }));
    return hidden ? null : html("label", { class: "charts-check" }, box, label);
  };
  const chosen = (what) => {
    Object.assign(flameState, what, "inverted" in what ? { frame: [] } : {});
    redraw();
    keepAddress();
  };
  search.addEventListener("input", () => chosen({ search: search.value }));
  const difference = other ? `difference from ${other.stack}` : "";
  return html("div", { class: "charts-choice phases-tools" }, search, check("inverted", "inverted: who allocated first, callers below"), check("against", difference, !comparable(other, phase, role, single)), count);
}

// What is to know of peaks.
function peaksSaid(entry, role) {
  if (role === "pair") return "The two sessions of a pair peak at different moments, so a pair has no peak here.";
  if (entry.roles[role].alone) return "One more of many adds no more to the peak than one session alone holds: what a session frees before its step ends is there once.";
  return "Call stacks at peaks within a phase are not recorded: sites runs of schemas before 9 have none.";
}

// state: role, at, rss; other: the entry of the other chart; close() when it is to go away. Returns what draws the flamegraph once it has a width.
function details(host, entry, state, other, close) {
  const [phase, tree] = [entry.phases[state.at], entry.tree === null ? null : treeAt(entry.tree)];
  const shut = html("button", { type: "button", class: "charts-plain phases-close" }, "close");
  shut.addEventListener("click", close);
  const said = lines(entry, state.role, state.at, state.rss).slice(0, 5).filter(Boolean);
  const single = flameState.peak && alone(entry, state.role, state.at) !== null;
  const when = single ? `one session alone at its peak in ${readable(phase)}` : `at the end of ${readable(phase)}`;
  host.replaceChildren(html("h3", {}, `${entry.stack}, ${entry.suite}, ${sessionOf(state.role)}, ${when}`, shut), html("p", { class: "phases-said" }, said.join(" · ")));
  if (!buckets(entry, state.role, state.at)) return void host.append(...withoutTree(entry));
  const moments = momentChoice(entry, state, (what) => {
    Object.assign(flameState, what);
    keepAddress();
    details(host, entry, state, other, close);
    host.querySelector(".phases-moment [aria-pressed=true]").focus();
  });
  if (moments) host.append(moments);
  const found = tree ? sites(tree, momentOf(entry, state.at, single), state.role) : [];
  const parts = { host: html("div", { class: "phases-flames flames" }), line: html("p", { class: "phases-line" }), found: html("output", { class: "phases-found" }), note: html("p", { class: "phases-note", role: "status" }), against: html("p", { class: "phases-against" }) };
  const focusOn = (frame) => {
    flameState.frame = frame;
    keepAddress();
  };
  const redraw = () => drawFlames(parts, state.role, flameChoice(entry, tree, state, other, single), when, focusOn);
  const { unflamed } = report.data("phases");
  const drawn = !unflamed && found.some((one) => one.bytes);
  if (unflamed) host.append(html("p", {}, unflamed));
  else if (drawn) host.append(flameTools(phase, other, parts.found, redraw, state.role, single), parts.note, parts.against, parts.line, parts.host);
  else host.append(html("p", {}, tree ? `A ${sessionOf(state.role)} holds nothing at the end of this phase.` : "This page in one file has the call stacks of each library's newest release only. To write a page with all of them: tools/tls-memtest show report --format files; the command below shows these."));
  const width = `The width of a function is what it and all that it called hold at ${single ? "this peak" : "the end of the phase"}, in one session whose every call stack was kept.`;
  host.append(html("p", { class: "phases-reading" }, `${width} ${peaksSaid(entry, state.role)}`));
  host.append(bucketTable(entry, state.role, state.at, found, single));
  if (found.length) host.append(siteTable(found, `Call sites of one ${sessionOf(state.role)}: ${single ? "at its peak in " : ""}${readable(phase)}`));
  host.append(command(inspected(entry, `${single ? "peak of " : ""}${readable(phase)}`, state.role, "--flamegraph flames.html")));
  if (drawn) onWidth(parts.host, redraw);
}
