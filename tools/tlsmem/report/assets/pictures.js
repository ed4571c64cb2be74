// Pictures are SVG that is inflated when it comes near the window; they can be saved as that, or as PNG.
const SCALE = 2; // pixels of a PNG to one of the picture
const drawings = new Map();

async function drawing(image) {
  if (!drawings.has(image)) {
    const svg = report.inflated(image.dataset.of);
    drawings.set(image, svg.then((text) => URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }))));
  }
  return drawings.get(image);
}

async function show(image) {
  if (!image.src) image.src = await drawing(image);
}

async function png(image) {
  const drawn = new Image();
  drawn.src = await drawing(image);
  await drawn.decode();
  const [width, height] = ["width", "height"].map((side) => SCALE * image.getAttribute(side));
  const canvas = element("canvas", { width, height });
  canvas.getContext("2d").drawImage(drawn, 0, 0, width, height);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  return URL.createObjectURL(blob);
}

for (const figure of document.querySelectorAll("figure:has(img[data-of])")) {
  const image = figure.querySelector("img");
  report.near(figure, () => show(image));
  figure.querySelector(".saves").hidden = false;
  for (const button of figure.querySelectorAll("button.save"))
    button.addEventListener("click", async () => {
      const form = button.dataset.as;
      const href = form === "png" ? await png(image) : await drawing(image);
      const download = `${figure.id.replace("picture-", "")}.${form}`;
      element("a", { href, download }).click();
      report.say(`${download} is saved`);
    });
}

for (const card of document.querySelectorAll(".card.pictures")) {
  const figures = [...card.querySelectorAll("figure")];
  if (figures.length < 2) continue;
  const show = (at) => figures.forEach((figure, other) => (figure.hidden = other !== at));
  const group = switched("picture", figures.map((one) => one.dataset.label), show);
  card.querySelector("h3").after(group);
  const linked = () => group.children[figures.findIndex((one) => `#${one.id}` === location.hash)]?.click();
  addEventListener("hashchange", linked);
  linked();
}

// Paper has all pictures: those that are not yet drawn are drawn when the page is idle, one after another; and at once
// when somebody prints. page.css leaves a card out whose picture is not there by then.
const idle = globalThis.requestIdleCallback ?? ((call) => setTimeout(call, 200));

async function drawRest(images) {
  const image = images.find((one) => !one.src);
  if (!image) return void (document.documentElement.dataset.pictures = "drawn");
  await show(image);
  idle(() => drawRest(images));
}

const pictures = [...document.querySelectorAll("img[data-of]")];
addEventListener("load", () => idle(() => drawRest(pictures)));
addEventListener("beforeprint", () => pictures.forEach(show));
