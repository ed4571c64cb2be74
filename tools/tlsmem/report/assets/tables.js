// Tables: sorted by their headings, filtered by words and by column, copied as Markdown or CSV as they are then seen.
const HOLE = "–";
const SHORT = 16; // rows: of fewer nothing is filtered
const FEW = 40; // values of a column that can be chosen from
const LONGEST = 44; // characters of one
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const inOrder = new Intl.Collator("en", { numeric: true });

const superscript = (number) => `${number}`.replace(/\d/g, (digit) => SUPERSCRIPTS[digit]);
const note = (cell) => cell.querySelector("a[href^='#']")?.textContent ?? "";
const words = (cell) => {
  const whole = cell.textContent.trim();
  const mark = note(cell);
  return (mark ? whole.slice(0, -mark.length) : whole).replace(/\s+/g, " ").trim();
};
// As it was written, before what stood between backticks became code.
const written = (node) => {
  const copy = node.cloneNode(true);
  for (const code of copy.querySelectorAll("code")) code.replaceWith(`\`${code.textContent}\``);
  return copy.textContent;
};
const number = (text) => {
  const found = text.replace(/,/g, "").match(/[-+]?\d+(\.\d+)?/);
  return found ? Number(found[0]) : -Infinity;
};

class Rows {
  constructor(box) {
    this.box = box;
    this.name = box.id;
    this.headings = [...box.querySelectorAll("thead th")];
    this.body = box.querySelector("tbody");
    this.rows = [...this.body.rows].map((row, at) => {
      const cells = [...row.cells];
      return { row, at, texts: cells.map(words), notes: cells.map(note) };
    });
    for (const link of this.body.querySelectorAll("a")) this.explain(link);
    this.headings.forEach((heading, at) =>
      heading.querySelector("button").addEventListener("click", () => this.sort(at)),
    );
  }

  // What a note says is heard with its number, and comes back from the note to where the reader was.
  explain(link) {
    const said = byId(link.hash.slice(1));
    link.title = said.firstChild.textContent;
    link.setAttribute("aria-label", `note ${link.textContent}`);
    link.addEventListener("click", () => {
      link.id ||= `${this.name}-from-${link.textContent}`;
      said.querySelector("a").href = `#${link.id}`;
    });
  }

  get left() {
    return this.headings.map((heading) => heading.classList.contains("l"));
  }

  get shown() {
    return [...this.body.rows].filter((row) => !row.hidden).map((row) => this.rows.find((one) => one.row === row));
  }

  // Ascending, descending, as it came. Holes are last either way.
  sort(at) {
    const heading = this.headings[at];
    const next = { none: "ascending", ascending: "descending", descending: "none" }[heading.ariaSort];
    for (const other of this.headings) other.ariaSort = "none";
    heading.ariaSort = next;
    const sign = next === "descending" ? -1 : 1;
    const [text, left] = [(one) => one.texts[at], this.left[at]];
    const compare = (a, b) => {
      if (next === "none") return a.at - b.at;
      const holes = (text(a) === HOLE) - (text(b) === HOLE);
      if (holes) return holes;
      const order = left ? inOrder.compare(text(a), text(b)) : number(text(a)) - number(text(b));
      return sign * order || a.at - b.at;
    };
    this.body.append(...[...this.rows].sort(compare).map((one) => one.row));
    report.say(next === "none" ? "in the order of the recording" : `sorted by ${heading.textContent.trim()}, ${next}`);
  }

  filter(query, chosen) {
    const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { row, texts } of this.rows) {
      const whole = texts.join(" ").toLowerCase();
      const columns = this.headings.every((heading, at) => {
        const value = chosen.get(heading.textContent.trim());
        return !value || texts[at] === value;
      });
      row.hidden = !(columns && wanted.every((word) => whole.includes(word)));
    }
    return this.shown.length;
  }

  markdown() {
    const head = this.headings.map((heading) => heading.textContent.trim());
    const shown = this.shown;
    const lines = shown.map(({ texts, notes }) =>
      texts.map((text, at) => (text + (notes[at] ? ` ${superscript(notes[at])}` : "")).replaceAll("|", "\\|")),
    );
    const widths = head.map((text, at) => Math.max(3, text.length, ...lines.map((line) => line[at].length)));
    const line = (cells) => `| ${cells.join(" | ")} |`;
    const padded = (cells) =>
      line(cells.map((text, at) => (this.left[at] ? text.padEnd(widths[at]) : text.padStart(widths[at]))));
    const rule = line(widths.map((width, at) => (this.left[at] ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)));
    return [this.title(), [padded(head), rule, ...lines.map(padded)].join("\n"), ...this.footnotes(shown)].join("\n\n") + "\n";
  }

  title() {
    const caption = written(this.box.querySelector(".caption"));
    return `**${this.box.querySelector("caption").textContent}**\n\n${caption}`;
  }

  footnotes(shown) {
    const used = new Set(shown.flatMap(({ notes }) => notes));
    const said = [...this.box.querySelectorAll(".notes li")].map((one, at) => [`${at + 1}`, written(one.firstChild)]);
    const without = [...this.box.querySelectorAll(".without li")].map((one) => `- ${one.textContent}`);
    const notes = said.filter(([mark]) => used.has(mark)).map(([mark, text]) => `${superscript(mark)} ${text}`);
    return without.length ? [...notes, "Without a row:", without.join("\n")] : notes;
  }

  // All columns that programs read, of the rows that are shown.
  async csv() {
    const [head, ...lines] = (await report.inflated(`${this.name}-csv`)).trimEnd().split("\n");
    return [head, ...this.shown.map(({ at }) => lines[at])].join("\n") + "\n";
  }
}

// What reads as a choice: several values, each of some rows, short ones.
const isChoice = (values, rows) =>
  values.length > 1 && values.length <= FEW && 2 * values.length <= rows && values.every((one) => one.length < LONGEST);

class Card {
  constructor(card) {
    this.title = card.querySelector("h3").textContent;
    this.boxes = [...card.querySelectorAll(".table")];
    this.tables = new Map();
    this.chosen = new Map();
    this.query = element("input", { type: "search", placeholder: "filter", spellcheck: false });
    this.query.ariaLabel = `filter rows: ${this.title}`;
    this.query.addEventListener("input", () => this.filter());
    this.selects = element("span", { className: "selects" });
    this.count = element("output");
    const tools = card.querySelector(".tools");
    tools.append(...this.meters(), this.query, this.selects, this.count, this.copier("Markdown"), this.copier("CSV"));
    tools.hidden = false;
    this.show(0);
  }

  copier(name) {
    const form = name.toLowerCase();
    const button = element("button", { type: "button", textContent: `copy ${name}`, className: `as-${form}` });
    button.ariaLabel = `copy as ${name}: ${this.title}`;
    button.addEventListener("click", async () => report.copy(await this.seen[form](), button));
    return button;
  }

  meters() {
    const labels = this.boxes.map((box) => box.dataset.label);
    return labels.length > 1 ? [switched("table", labels, (at) => this.show(at))] : [];
  }

  // The rows of a table that is not seen at first are inflated when it is.
  async show(at) {
    const box = this.boxes[at];
    if (!this.tables.has(box)) {
      if (byId(`${box.id}-rows`)) box.querySelector("tbody").innerHTML = await report.inflated(`${box.id}-rows`);
      this.tables.set(box, new Rows(box));
    }
    for (const other of this.boxes) other.hidden = other !== box;
    this.seen = this.tables.get(box);
    this.query.hidden = this.seen.rows.length < SHORT;
    this.selects.replaceChildren(...(this.query.hidden ? [] : this.choices()));
    this.filter();
  }

  choices() {
    const { headings, rows, left } = this.seen;
    return headings.flatMap((heading, at) => {
      const values = [...new Set(rows.map(({ texts }) => texts[at]))].sort(inOrder.compare);
      if (!left[at] || !isChoice(values, rows.length)) return [];
      const name = heading.textContent.trim();
      const options = [["", `${name}: all`], ...values.map((value) => [value, value || "–"])];
      const select = element("select", {}, ...options.map(([value, textContent]) => element("option", { value, textContent })));
      select.ariaLabel = `${name}: ${this.title}`;
      select.value = this.chosen.get(name) ?? "";
      select.addEventListener("change", () => {
        this.chosen.set(name, select.value);
        this.filter();
      });
      return [select];
    });
  }

  filter() {
    const shown = this.seen.filter(this.query.value, this.chosen);
    const all = this.seen.rows.length;
    const rows = all === 1 ? "row" : "rows";
    this.count.textContent = shown === all ? `${all} ${rows}` : `${shown} of ${all} ${rows}`;
  }
}

for (const card of document.querySelectorAll(".card.tables")) new Card(card);
