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
  // A payload: what the page carries deflated (sections.py), or has in a file beside it, as text.
  async inflated(id) {
    const text = byId(id)?.textContent ?? (await loaded(id));
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).text();
  },
  unpacked: async (id) => JSON.parse(await report.inflated(`packed-${id}`)),
};

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
