// Tables: drawn from packed rows when they come near the window; sorted by their headings, filtered by words and by
// column, copied as Markdown or CSV. At first one row a stack stands there; whoever filters searches all settings.
const HOLE = "–";
const SHORT = 16; // rows: of fewer nothing is filtered
const FEW = 40; // values of a column that can be chosen from
const LONGEST = 44; // characters of one
const FOLDED = 160; // characters of a cell: only its beginning is seen at first
const BATCH = 30; // rows that are drawn at a time
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const inOrder = new Intl.Collator("en", { numeric: true });

const superscript = (number) => `${number}`.replace(/\d/g, (digit) => SUPERSCRIPTS[digit]);
// As it was written, before what stood between backticks became code.
const written = (node) => {
  const copy = node.cloneNode(true);
  for (const code of copy.querySelectorAll("code")) code.replaceWith(`\`${code.textContent}\``);
  return copy.textContent;
};
const coded = (text) => text.split("`").map((part, at) => (at % 2 ? element("code", { textContent: part }) : part));
const number = (text) => {
  const found = text.replace(/,/g, "").match(/[-+]?\d+(\.\d+)?/);
  return found ? Number(found[0]) : -Infinity;
};

// The text of a number of bytes as CSV has it, and of blocks where there are two, as table_html.py makes it.
const grouped = (value) => String(Math.floor(Number(value) + 0.5)).replace(/\B(?=(\d{3})+$)/g, ",");
const textOfValues = ([size, blocks]) => (size === "" ? "–" : grouped(size) + (blocks === undefined ? "" : ` (${grouped(blocks)})`));

class Rows {
  constructor(box, { columns, csv, notes, first }) {
    this.box = box;
    for (const column of columns) {
      if (!column.of) continue;
      const values = column.of.map((at) => csv[at].values);
      column.texts = values[0].map((_, row) => column.others[row] ?? textOfValues(values.map((one) => one[row])));
    }
    this.headings = [...box.querySelectorAll("thead th")];
    this.left = this.headings.map((one) => one.classList.contains("l"));
    this.body = box.querySelector("tbody");
    [this.notes, this.first] = [notes, first && new Set(first)];
    this.written = csv.map(({ name, values }) => ({ name, values: Array.isArray(values) ? values : columns[values].texts }));
    this.head = Number(box.dataset.head);
    this.marks = Number(box.dataset.marks ?? -1);
    this.rows = (columns[0]?.texts ?? []).map((_, at) => {
      const texts = columns.map((column) => column.texts[at]);
      return { at, texts, notes: columns.map((column) => column.notes?.[at] ?? 0), words: texts.join(" ").toLowerCase() };
    });
    this.order = this.rows;
    this.sorted = { at: -1, way: "none" };
    this.more = element("button", { type: "button", className: "more", hidden: true });
    this.more.addEventListener("click", () => {
      this.most = Infinity;
      this.draw();
    });
    box.querySelector(".box").after(this.more);
    this.headings.forEach((one, at) => one.querySelector("button").addEventListener("click", () => this.sort(at)));
  }

  cell(row, at) {
    const [text, note] = [row.texts[at], row.notes[at]];
    if (at === this.head) {
      const made = element("th", { scope: "row" });
      text.split(/(?<=[+@])/).forEach((part, piece) => made.append(...(piece ? [element("wbr"), part] : [part])));
      return this.noted(made, note);
    }
    const made = element("td");
    if (at === this.marks) text.split("; ").filter(Boolean).forEach((mark, one) => made.append(...(one ? ["; "] : []), element("b", { textContent: mark })));
    else if (text.length > FOLDED) {
      const summary = element("summary", { ariaLabel: `${text.slice(0, LONGEST)}, and more` });
      summary.dataset.begins = text.slice(0, LONGEST);
      made.append(element("details", {}, summary, text));
    } else made.append(text);
    return this.noted(made, note);
  }

  // What a note says is heard with its number, and comes back from the note to where the reader was.
  noted(cell, note) {
    if (!note) return cell;
    const link = element("a", { href: `#${this.box.id}-n${note}`, textContent: note, title: this.notes[note - 1], ariaLabel: `note ${note}` });
    link.addEventListener("click", () => {
      for (const other of this.body.querySelectorAll("a[id]")) other.removeAttribute("id");
      link.id = `${this.box.id}-from`;
    });
    cell.append(link);
    return cell;
  }

  element(row) {
    row.drawn ??= element("tr", {}, ...row.texts.map((_, at) => this.cell(row, at)));
    return row.drawn;
  }

  // The rows that are shown, as many as fit into a batch; the rest when it is asked for.
  draw() {
    const some = this.shown.slice(0, this.most);
    this.body.replaceChildren(...some.map((row) => this.element(row)));
    this.more.hidden = some.length === this.shown.length;
    this.more.textContent = `show ${this.shown.length - some.length} more rows`;
    const used = new Set(some.flatMap(({ notes }) => notes));
    const items = this.notes.flatMap((text, at) => (used.has(at + 1) ? [this.note(text, at + 1)] : []));
    const list = this.box.querySelector(".notes");
    list.replaceChildren(...items);
    list.hidden = !items.length;
  }

  note(text, number) {
    const back = element("a", { href: `#${this.box.id}`, textContent: "↩", ariaLabel: `back to the table, from note ${number}` });
    back.addEventListener("click", (event) => {
      const from = byId(`${this.box.id}-from`) ?? [...this.body.querySelectorAll("a")].find((one) => one.textContent === `${number}`);
      event.preventDefault();
      from?.scrollIntoView({ block: "center" });
      from?.focus();
    });
    return element("li", { id: `${this.box.id}-n${number}`, value: number }, element("span", {}, ...coded(text)), " ", back);
  }

  // Ascending, descending, as it came. Holes are last either way.
  sort(at, way = { none: "ascending", ascending: "descending", descending: "none" }[this.headings[at].ariaSort]) {
    for (const other of this.headings) other.ariaSort = "none";
    this.headings[at].ariaSort = way;
    const sign = way === "descending" ? -1 : 1;
    const [text, left] = [(one) => one.texts[at], this.left[at]];
    const compare = (a, b) => {
      const holes = (text(a) === HOLE) - (text(b) === HOLE);
      if (holes) return holes;
      const order = left ? inOrder.compare(text(a), text(b)) : number(text(a)) - number(text(b));
      return sign * order || a.at - b.at;
    };
    this.order = way === "none" ? this.rows : [...this.rows].sort(compare);
    this.sorted = { at, way };
    this.shown = this.order.filter((row) => this.matching.has(row));
    this.draw();
    report.say(way === "none" ? "in the order of the recording" : `sorted by ${this.headings[at].textContent.trim()}, ${way}`);
    this.changed?.();
  }

  filter(query, chosen, all) {
    const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
    const columns = this.headings.map((one) => chosen.get(one.textContent.trim()));
    const some = this.first && !all && !wanted.length && !columns.some(Boolean);
    const fits = (row) =>
      some ? this.first.has(row.at) : columns.every((value, at) => !value || row.texts[at] === value) && wanted.every((word) => row.words.includes(word));
    this.shown = this.order.filter(fits);
    this.matching = new Set(this.shown);
    this.most = BATCH;
    this.draw();
    return this.shown.length;
  }

  markdown() {
    const head = this.headings.map((one) => one.textContent.trim());
    const lines = this.shown.map(({ texts, notes }) =>
      texts.map((text, at) => (text + (notes[at] ? ` ${superscript(notes[at])}` : "")).replaceAll("|", "\\|")),
    );
    const widths = head.map((text, at) => Math.max(3, text.length, ...lines.map((line) => line[at].length)));
    const line = (cells) => `| ${cells.join(" | ")} |`;
    const padded = (cells) =>
      line(cells.map((text, at) => (this.left[at] ? text.padEnd(widths[at]) : text.padStart(widths[at]))));
    const rule = line(widths.map((width, at) => (this.left[at] ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)));
    return [this.title(), [padded(head), rule, ...lines.map(padded)].join("\n"), ...this.footnotes()].join("\n\n") + "\n";
  }

  title() {
    const caption = written(this.box.querySelector(".caption"));
    return `**${this.box.querySelector("caption").textContent}**\n\n${caption}`;
  }

  footnotes() {
    const used = new Set(this.shown.flatMap(({ notes }) => notes));
    const without = [...this.box.querySelectorAll(".without li")].map((one) => `- ${one.textContent}`);
    const notes = this.notes.flatMap((text, at) => (used.has(at + 1) ? [`${superscript(at + 1)} ${text}`] : []));
    return without.length ? [...notes, "Without a row:", without.join("\n")] : notes;
  }

  // All columns that programs read, of the rows that are shown.
  csv() {
    const line = (values) => values.map((value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)).join(",");
    const lines = this.shown.map(({ at }) => line(this.written.map(({ values }) => values[at])));
    return [line(this.written.map(({ name }) => name)), ...lines].join("\n") + "\n";
  }
}

// What reads as a choice: several values, each of some rows, short ones.
const isChoice = (values, rows) =>
  values.length > 1 && values.length <= FEW && 2 * values.length <= rows && values.every((one) => one.length < LONGEST);

class Card {
  constructor(card) {
    this.id = card.id;
    this.title = card.querySelector("h3").firstChild.textContent;
    this.boxes = [...card.querySelectorAll(".table")];
    this.tables = new Map();
    this.chosen = new Map();
    this.query = element("input", { type: "search", placeholder: "filter all settings", spellcheck: false });
    this.query.ariaLabel = `filter rows: ${this.title}`;
    this.query.addEventListener("input", () => this.change());
    this.all = element("button", { type: "button", className: "all", ariaPressed: "false", textContent: "all settings" });
    this.all.addEventListener("click", () => {
      this.all.ariaPressed = `${this.all.ariaPressed !== "true"}`;
      this.change();
    });
    this.selects = element("span", { className: "selects" });
    this.count = element("output");
    this.switch = this.boxes.length > 1 ? switched("table", this.boxes.map((box) => box.dataset.label), (at) => this.show(at).then(() => this.keep())) : null;
    const tools = card.querySelector(".tools");
    tools.append(...(this.switch ? [this.switch] : []), this.query, this.selects, this.all, this.count, this.copier("Markdown"), this.copier("CSV"));
    tools.hidden = false;
    report.choosable(this.id, (asked) => this.choose(asked));
    report.near(card, () => this.wanted ?? this.show(0));
  }

  copier(name) {
    const form = name.toLowerCase();
    const button = element("button", { type: "button", textContent: `copy ${name}`, className: `as-${form}` });
    button.ariaLabel = `copy ${name}: ${this.title}`;
    button.addEventListener("click", () => report.copy(this.seen[form](), button));
    return button;
  }

  // Made once, even if asked for again while it is inflated: two would draw into the same table, each in its own order.
  rows(box) {
    const made = async () => Object.assign(new Rows(box, await report.parsed(`${box.id}-packed`)), { changed: () => this.keep() });
    if (!this.tables.has(box)) this.tables.set(box, made());
    return this.tables.get(box);
  }

  async show(at) {
    const box = this.boxes[at];
    this.wanted = at;
    const found = await this.rows(box);
    if (this.wanted !== at) return this.show(this.wanted); // another was asked for meanwhile
    for (const other of this.boxes) other.hidden = other !== box;
    this.seen = found;
    [...(this.switch?.children ?? [])].forEach((button, other) => (button.ariaPressed = `${other === at}`));
    const { rows, first } = this.seen;
    this.query.hidden = rows.length < SHORT;
    this.all.hidden = !first;
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
        this.change();
      });
      return [select];
    });
  }

  change() {
    this.filter();
    this.keep();
  }

  filter() {
    const shown = this.seen.filter(this.query.value, this.chosen, this.all.ariaPressed === "true");
    const all = this.seen.rows.length;
    const rows = all === 1 ? "row" : "rows";
    this.count.textContent = shown === all ? `${all} ${rows}` : `${shown} of ${all} ${rows}`;
    this.all.textContent = `all settings (${all} rows)`;
  }

  // What is chosen, into the address; and what an address says.
  keep() {
    const { sorted, headings } = this.seen;
    const sort = sorted.way === "none" ? "" : `${headings[sorted.at].textContent.trim()} ${sorted.way}`;
    const at = this.boxes.indexOf(this.seen.box);
    const columns = Object.fromEntries([...this.chosen].map(([name, value]) => [`is.${name}`, value]));
    clearTimeout(this.keeping); // whoever types is not kept waiting
    this.keeping = setTimeout(() => report.address(this.id, { table: at || "", q: this.query.value, all: this.all.ariaPressed === "true" ? 1 : "", sort, ...columns }), 250);
  }

  async choose(asked) {
    this.query.value = asked.q ?? "";
    this.all.ariaPressed = `${asked.all === "1"}`;
    this.chosen = new Map(Object.entries(asked).flatMap(([key, value]) => (key.startsWith("is.") ? [[key.slice(3), value]] : [])));
    await this.show(this.boxes[Number(asked.table)] ? Number(asked.table) : 0);
    const [, name, way] = (asked.sort ?? "").match(/^(.*) (ascending|descending)$/) ?? [];
    const at = this.seen.headings.findIndex((one) => one.textContent.trim() === name);
    if (at >= 0) this.seen.sort(at, way);
  }
}

for (const card of document.querySelectorAll(".card.tables")) new Card(card);
