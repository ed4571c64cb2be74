// What every section may use: its data, the live region, the clipboard. Then the colours of the page.
const byId = (id) => document.getElementById(id);
const parsed = new Map();

const report = {
  data(id) {
    if (!parsed.has(id)) parsed.set(id, JSON.parse(byId(`data-${id}`).textContent));
    return parsed.get(id);
  },
  section: (id) => byId(id),
  say(text) {
    byId("said").textContent = text;
  },
  async copy(text, button) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      copyByHand(text);
    }
    report.say("copied");
    if (button.dataset.said) return;
    button.dataset.said = button.textContent;
    button.textContent = "copied";
    setTimeout(() => {
      button.textContent = button.dataset.said;
      delete button.dataset.said;
    }, 1200);
  },
  // A payload: what the page carries deflated (packed_json.py), or has in a file beside it, as text.
  async inflated(id) {
    const text = byId(id)?.textContent ?? (await loaded(id));
    const stream = new Blob([fromBase85(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).text();
  },
  // A value that packed_json.py packed: what it has several times is a part, to which "@N" refers.
  async parsed(id) {
    const { parts, value } = JSON.parse(await report.inflated(id));
    const restored = (one) => {
      if (typeof one === "string") return one[0] !== "@" ? one : one[1] === "@" ? one.slice(1) : restored(parts[one.slice(1)]);
      if (Array.isArray(one)) return one.map(restored);
      return one && typeof one === "object" ? Object.fromEntries(Object.entries(one).map(([key, inner]) => [key, restored(inner)])) : one;
    };
    return restored(value);
  },
  unpacked: (id) => report.parsed(`packed-${id}`),
};

// The bytes of a text in base 85: four of five signs, and at the end one fewer than there are signs.
const SIGNS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%,()*+-;.=:?@^_`{|}~";
const VALUES = new Map([...SIGNS].map((sign, value) => [sign, value]));

function fromBase85(text) {
  const bytes = new DataView(new ArrayBuffer(4 * Math.ceil(text.length / 5)));
  for (let at = 0; at < text.length; at += 5) {
    let group = 0;
    for (const sign of text.slice(at, at + 5).padEnd(5, "~")) group = 85 * group + VALUES.get(sign);
    bytes.setUint32((at / 5) * 4, group);
  }
  return bytes.buffer.slice(0, Math.floor((text.length * 4) / 5));
}

// Files of payloads are scripts, since a page may not fetch files that lie beside it: each calls payload(id, text).
const arriving = new Map();
globalThis.payload = (id, text) => arriving.get(id)(text);

function loaded(id) {
  return new Promise((done, failed) => {
    arriving.set(id, done);
    const script = element("script", { src: `data/${id}.js` });
    script.addEventListener("error", () => failed(new Error(`data/${id}.js is missing`)));
    document.head.append(script);
  });
}

// What is chosen in a section is kept in the address, `#SECTION?key=value`, so that it can be linked to.
const choosers = new Map();

report.address = (id, chosen) => {
  const pairs = Object.entries(chosen).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  history.replaceState(null, "", `#${id}?${new URLSearchParams(pairs)}`);
};

// `choose` is given what an address says, at once and whenever it changes.
report.choosable = (id, choose) => {
  choosers.set(id, choose);
  readAddress(id);
};

// Calls once the element comes near the window, or is to be printed.
const waiting = new Map();

report.near = (element, call) => {
  waiting.set(element, call);
  element.classList.add("unopened");
  approach.observe(element);
};

const approach = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => isIntersecting && arrived(target)), { rootMargin: "600px" });

function arrived(element) {
  const call = waiting.get(element);
  waiting.delete(element);
  element.classList.remove("unopened");
  approach.unobserve(element);
  call?.();
}

function readAddress(only = null) {
  const [id, chosen] = location.hash.slice(1).split("?", 2);
  if (chosen === undefined || (only && only !== id)) return;
  choosers.get(id)?.(Object.fromEntries(new URLSearchParams(chosen)));
  byId(id)?.scrollIntoView();
}
// What is drawn later above a linked card moves it: it is brought back for so long, or until the reader does something.
const SETTLED = 3000; // milliseconds
function keepInView() {
  const target = byId(location.hash.slice(1).split("?", 1)[0]);
  if (!target) return;
  const moved = new ResizeObserver(() => target.scrollIntoView());
  moved.observe(document.body);
  const release = () => moved.disconnect();
  for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(kind, release, { once: true });
  setTimeout(release, SETTLED);
}
// Link targets scroll to below the contents, however many lines those take.
const contents = byId("contents");
new ResizeObserver(() => {
  const covered = getComputedStyle(contents).position === "sticky" ? contents.offsetHeight : 0;
  document.documentElement.style.scrollPaddingTop = `${covered + 12}px`;
}).observe(contents);
addEventListener("load", keepInView);
addEventListener("hashchange", () => {
  readAddress();
  keepInView();
});

// Where a page may not use the clipboard's interface.
function copyByHand(text) {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// A button for each of several things of which one is seen.
function switched(name, labels, choose) {
  const group = element("div", { className: "switch", role: "group", ariaLabel: name });
  labels.forEach((textContent, at) => {
    const button = element("button", { type: "button", textContent, ariaPressed: `${at === 0}` });
    button.addEventListener("click", () => {
      for (const other of group.children) other.ariaPressed = `${other === button}`;
      choose(at);
    });
    group.append(button);
  });
  return group;
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;
const theme = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");
const named = () => (byId("theme").textContent = `colours: ${theme()}`);
byId("theme").addEventListener("click", () => {
  root.dataset.theme = theme() === "dark" ? "light" : "dark";
  named();
});
dark.addEventListener("change", named);
named();

for (const button of document.querySelectorAll("button.copy"))
  button.addEventListener("click", () => report.copy(byId(button.dataset.of).textContent, button));
