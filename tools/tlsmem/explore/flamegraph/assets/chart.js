// The flamegraph of the page, and what it says beside the pointer, above it and of what is found.
const host = document.getElementById("figure");
const tip = document.getElementById("tip");
const details = document.getElementById("details");
let [drawing, root, alone] = [null, null, WHOLE]; // `alone`: the frame that is shown alone

function showTip(event, frame) {
  tip.hidden = frame === null;
  if (!frame) return;
  const title = document.createElement("b");
  title.textContent = (frame.parent ? frame : WHOLE).full;
  const sentences = said(frame, state.moment, state.role).map((text) => paragraph(text));
  tip.replaceChildren(title, paragraph(where(frame), "where"), ...sentences);
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, window.innerWidth - width - 8);
  const under = event.clientY + 18;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${under + height < window.innerHeight ? under : Math.max(8, event.clientY - height - 12)}px`;
}

function showDetails(frame) {
  const title = Object.assign(document.createElement("b"), { textContent: (frame.parent ? frame : WHOLE).full });
  details.replaceChildren(title, ` · ${[...said(frame, state.moment, state.role), ...peakSaid(state.moment)].join(" · ")}`);
}

// NEW and OLD by what their bytes are for, of the chosen role.
function purposes() {
  const [old, now] = [0, 1].map((moment) => byKind(moment, state.role));
  const unit = unitOf(WHOLE, state.role);
  const rows = kinds.map((name, at) => ({ name, colour: colourOfKind(at), bytes: now[at] / unit.by, other: old[at] / unit.by }));
  return flames.purposes(`What the bytes are for${unit.said}, and what NEW holds more or less than OLD. ${sharedSaid()}`, [`NEW (${about.diff.new})`, `OLD (${about.diff.old})`], rows, bytesSaid);
}

function redraw() {
  [root, alone] = [framesAt(state.moment, state.role), WHOLE];
  tip.hidden = true;
  if (isOfPurposes(state.moment) && root.value > 0) {
    drawing = null;
    host.replaceChildren(purposes());
  } else if (root.value <= 0) {
    drawing = null;
    host.replaceChildren(paragraph(about.diff ? "OLD and NEW hold the same here." : `Nothing is live here at ${momentSaid(moments[state.moment])}.`, "empty"));
  } else {
    drawing = flames.draw(host, root, {
      label: (frame) => labelOf(frame, state.role),
      colour: (frame) => colourOf(frame, state.role),
      aria: (frame) => `${labelOf(frame, state.role)}: ${said(frame, state.moment, state.role).join(", ")}`,
      say: (frame) => showDetails(frame ?? alone),
      point: showTip,
      chosen: (frame) => {
        alone = frame === root ? WHOLE : frame;
        change({ zoom: frame === root ? [] : flames.linkOf(frame) }, false);
      },
      up: state.order === "flame",
    });
    showAlone();
  }
  showDetails(alone);
  showFound();
  showNote();
}

// Of a link: what it names and the page does not have.
function showNote() {
  const missing = state.zoom.length && !isOfPurposes(state.moment) ? flames.missingSaid(root, state.zoom, [tree], `at ${momentSaid(moments[state.moment])}`) : "";
  document.getElementById("note").textContent = [unknown, missing].filter(Boolean).join(" ");
}

// The frame that the address names, or the nearest of its callers that is there.
function showAlone() {
  if (!state.zoom.length) return;
  const { frame } = flames.find(root, state.zoom);
  alone = frame.parent ? frame : WHOLE;
  if (frame !== root) drawing.show(frame);
}

// What is found, counted once where a found function called another; the outermost counts.
function showFound() {
  const found = document.getElementById("found");
  const hits = drawing?.search(state.search) ?? [];
  if (!state.search || isOfPurposes(state.moment)) return (found.textContent = "");
  const sum = { bytes: 0, session: 0, units: new Set() };
  for (const frame of flames.outermost(hits)) {
    const session = perSession(frame, state.moment, state.role);
    sum.bytes += held(frame, state.moment, state.role).bytes;
    sum.session += session ? session.bytes : 0;
    sum.units.add(session ? session.unit : "");
  }
  const all = held(WHOLE, state.moment, state.role).bytes;
  const [unit] = sum.units;
  const session = sum.units.size === 1 && unit ? `, ${bytesSaid(sum.session)} per ${unit}` : "";
  const whole_ = about.diff ? unitOf(WHOLE, state.role) : { by: 1, said: "" };
  found.textContent = hits.length
    ? `${whole(hits.length)} found: ${bytesSaid(sum.bytes / whole_.by)}${addedUp(state.moment)}${whole_.said}, ${shareSaid(sum.bytes, all)}${session}`
    : "nothing found here";
}
