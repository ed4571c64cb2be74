// What charts of several sections have in common: elements, numbers in words, a scale of bytes, what is said beside a
// mark, and keys that go from mark to mark.
const SVG = "http://www.w3.org/2000/svg";
const KIB = 1024;

function filled(made, attributes, children = []) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

const html = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

const whole = (number) => Math.round(number).toLocaleString("en");
const tenth = (number) => number.toLocaleString("en", { maximumFractionDigits: 1 });
const share = (part, all) => (all ? `${((100 * part) / all).toFixed(1)} %` : "–");
const plural = (count, noun) => `${count} ${noun}${count === "1" ? "" : "s"}`;

// As the tables have it: a whole number, and what is left over so many sessions.
function quotient(amount, sessions) {
  const each = Math.trunc(amount / sessions);
  const left = amount - each * sessions;
  return left ? `${whole(each)} ${left > 0 ? "+" : "−"} ${whole(Math.abs(left))}/${whole(sessions)}` : whole(each);
}

// Bytes in the unit of an axis.
function unitOf(most) {
  return [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", KIB]].find(([, size]) => Math.abs(most) >= 2 * size) ?? ["KiB", KIB];
}

// Round steps in this unit, from nought or below to the most, about this many.
function ticks(low, high, size, about = 5) {
  const rough = (high - low) / size / about || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= rough) * size;
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high * 1.0001; at++) found.push(at * step);
  return found;
}

// One for the page: what a mark has to say, beside it, within the window.
const tip = html("div", { class: "charts-tip", role: "tooltip", hidden: true });
document.body.append(tip);

let told = null; // the mark that it is beside

function showTip(mark, title, lines) {
  told = mark;
  tip.replaceChildren(html("b", {}, title), ...lines.filter(Boolean).map((line) => html("p", {}, line)));
  tip.hidden = false;
  place(mark);
}

function place(mark) {
  const at = mark.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const left = at.left + at.width / 2 - width / 2;
  const above = at.top - height - 8;
  tip.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  tip.style.top = `${above >= 8 ? above : Math.min(at.bottom + 8, innerHeight - height - 8)}px`;
}

function hideTip() {
  tip.hidden = true;
}

// What is focused is often scrolled to: the tip goes along. From what is only pointed at the pointer has gone.
addEventListener("scroll", () => (tip.hidden || !told.closest(":focus") ? hideTip() : place(told)), { passive: true });

// Marks of one chart: one of them is in the order of tabs, arrows go to the others. Each says itself when it is pointed at
// or focused; Enter, the space bar and a click choose it.
function marks(found, said, chosen = null) {
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -found.length, End: found.length };
  found.forEach((mark, at) => {
    const show = () => showTip(mark.querySelector("[data-spot]") ?? mark, ...said(at));
    mark.addEventListener("mouseenter", show);
    mark.addEventListener("focus", show);
    mark.addEventListener("mouseleave", hideTip);
    mark.addEventListener("blur", hideTip);
    if (chosen) mark.addEventListener("click", () => chosen(at));
    mark.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape") return hideTip();
      if (chosen && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        return chosen(at);
      }
      const to = Math.max(0, Math.min(found.length - 1, at + (steps[event.key] ?? 0)));
      if (!steps[event.key]) return;
      event.preventDefault();
      found.forEach((one, number) => one.setAttribute("tabindex", number === to ? 0 : -1));
      found[to].focus();
    });
  });
}

// A table of texts; the first column names its rows.
function table(caption, headings, rows, sum = null) {
  const cells = (row) => row.map((text, at) => (at ? html("td", {}, text) : html("th", { scope: "row" }, text)));
  const head = html("tr", {}, ...headings.map((text) => html("th", { scope: "col" }, text)));
  const made = html("table", {}, html("caption", {}, caption), html("thead", {}, head));
  made.append(html("tbody", {}, ...rows.map((row) => html("tr", {}, ...cells(row)))));
  if (sum) made.append(html("tfoot", {}, html("tr", {}, ...cells(sum))));
  return html("div", { class: "charts-table", role: "region", tabindex: 0, "aria-label": caption }, made);
}

// A word of a shell.
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// Of a command, that can be copied.
function command(text) {
  const button = html("button", { type: "button" }, "copy");
  button.addEventListener("click", () => report.copy(text, button));
  return html("p", { class: "charts-command" }, html("code", {}, text), " ", button);
}

function option(value, text, selected = false) {
  return Object.assign(html("option", { value }, text), { selected });
}

// Redraws when the element has another width.
function onWidth(element, draw) {
  let known = 0;
  new ResizeObserver(() => {
    if (!element.clientWidth || element.clientWidth === known) return;
    known = element.clientWidth;
    draw();
  }).observe(element);
}

report.charts = { filled, html, svg, whole, tenth, share, plural, quotient, unitOf, ticks, showTip, hideTip, marks, table, command, quoted, option, onWidth };
