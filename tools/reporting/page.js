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
    const said = button.textContent;
    button.textContent = "copied";
    report.say("copied");
    setTimeout(() => (button.textContent = said), 1200);
  },
};

// Where a page may not use the clipboard's interface.
function copyByHand(text) {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
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
