// What `tls-memtest plan memory` answers for the same inputs, to the byte: the sum of capacity.py, in whole numbers
// (BigInt). A test compares both over a grid of inputs.
const UNITS = { "": 1n, k: 10n ** 3n, K: 10n ** 3n, M: 10n ** 6n, G: 10n ** 9n };
const AMOUNT = /^(\d[\d,_]*)(?:\.(\d+))?\s*([kKMG]?)(%?)$/;
const MOST = 10n ** 15n;
const SIZES = [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20]];

// A number that people wrote: top / bottom, and whether it is in per cent; null for anything else.
function amount(text) {
  const found = AMOUNT.exec(text.trim());
  if (!found || (found[3] && found[4])) return null;
  const [, before, after = "", unit, sign] = found;
  const top = BigInt(before.replace(/[,_]/g, "") + after) * UNITS[unit];
  const bottom = 10n ** BigInt(after.length);
  return top > MOST * bottom ? null : { top, bottom, percent: sign === "%" };
}

// A whole number; null for anything else.
function count(text) {
  const found = amount(text);
  return !found || found.percent || found.top % found.bottom ? null : found.top / found.bottom;
}

// So many of all, as top / bottom: `5%` of them, or `5000`; null where that is no share, or more than all.
function share(text, all) {
  const found = amount(text);
  if (!found || (!found.percent && found.top % found.bottom)) return null;
  const part = found.percent ? { top: found.top * all, bottom: found.bottom * 100n } : { top: found.top / found.bottom, bottom: 1n };
  return part.top > all * part.bottom ? null : part;
}

const isMore = (one, other) => one.top * other.bottom > other.top * one.bottom;
const without = (all, part) => ({ top: all * part.bottom - part.top, bottom: part.bottom });
const term = (what, { top, bottom }, each) => ({ what, bytes: (top * BigInt(each) + bottom - 1n) / bottom });

// `quiet`: bytes of `process`, of a connection in `use` and at `rest`, and of a `handshake` under way; null: not recorded.
// `busy`: the same where handshakes count, if another recording has them. Returns the bytes and their terms; or what is
// wrong with an input; or `missing`, what is not recorded.
function planMemory({ quiet, busy }, inputs) {
  const connections = count(inputs.connections);
  if (!connections) return { wrong: "Connections must be a whole number, at least 1." };
  const used = share(inputs.share, connections);
  if (!used) return { wrong: "In use must be a share, 30%, or a number of the connections." };
  const shaking = share(inputs.handshakes, connections);
  if (!shaking) return { wrong: "Handshakes at a time must be a number of the connections, or a share, 5%." };
  const kernel = count(inputs.kernel);
  if (kernel === null) return { wrong: "Kernel bytes must be a whole number." };
  const prices = shaking.top ? (busy ?? quiet) : quiet;
  const active = isMore(shaking, used) ? shaking : used;
  const resting = without(connections, active);
  if (shaking.top && prices.handshake === null) return { missing: "handshake" };
  if (resting.top && prices.rest === null) return { missing: "rest" };
  const all = { top: connections, bottom: 1n };
  const terms = [
    term("process", { top: 1n, bottom: 1n }, prices.process),
    term("in use", active, prices.use),
    term("at rest", resting, prices.rest ?? 0),
    term("handshakes", shaking, prices.handshake ?? 0),
    term("kernel", all, kernel),
  ];
  return { bytes: terms.reduce((sum, one) => sum + one.bytes, 0n), terms, connections, prices };
}

// As `plan` prints a size: three significant digits from 1 MiB on.
function formatSize(bytes) {
  const size = Number(bytes);
  const [unit, each] = SIZES.find(([, one]) => Math.abs(size) >= one) ?? ["B", 1];
  const value = size / each;
  const decimals = unit === "B" || Number.isInteger(value) ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return `${value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })} ${unit}`;
}

report.plan = { planMemory, formatSize, count };
