// Draw a prediction: a density with its bands, or bars of probabilities.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 480;
const POINTS = 160;
const MOST_BARS = 12;
const WIDEST_NAME = 170;

function shape(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent.append(element);
  return element;
}

function label(text, attributes, parent) {
  shape("text", attributes, parent).textContent = text;
}

function emptied(svg, height, words) {
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
  svg.setAttribute("aria-label", words);
}

// An axis that keeps its range as long as possible, so that a change of the prediction is visible.
class Axis {
  constructor() {
    this.low = this.high = null;
  }

  reach(low, high) {
    const outside = this.low === null || low < this.low || high > this.high;
    const lost = !outside && high - low < 0.05 * (this.high - this.low);
    if (outside || lost) {
      const margin = 0.4 * (high - low);
      [this.low, this.high] = [low - margin, high + margin];
    }
  }

  at(value) {
    return (WIDTH * (value - this.low)) / (this.high - this.low);
  }
}

function drawDensity(svg, axis, said, q, words) {
  const [height, floor, top] = [190, 160, 10];
  emptied(svg, height, words);
  axis.reach(q.least, q.most);
  const xs = Array.from(
    { length: POINTS + 1 },
    (_, i) => axis.low + ((axis.high - axis.low) * i) / POINTS,
  );
  const ys = new Map();
  const density = (x) => ys.get(x) ?? ys.set(x, said.pdf(x)).get(x);
  const least = said.least ?? -Infinity;
  const inner = [...xs, least, q.least, q.q05, q.q25, q.median, q.q75, q.q95, q.most]
    .filter((x) => x >= least && x >= axis.low && x <= axis.high)
    .sort((a, b) => a - b);
  const peak = Math.max(...inner.map(density).filter(Number.isFinite));
  const y = (x) => floor - (floor - top) * Math.min(density(x) / peak, 1);
  const point = (x) => `${axis.at(x).toFixed(2)},${y(x).toFixed(2)}`;
  const area = (from, to, name) => {
    const part = inner.filter((x) => x >= from && x <= to).map(point);
    const [left, right] = [axis.at(from).toFixed(2), axis.at(to).toFixed(2)];
    const d = `M${left},${floor}L${part.join("L")}L${right},${floor}Z`;
    shape("path", { class: name, d }, svg);
  };
  area(q.q05, q.q95, "area outer");
  area(q.q25, q.q75, "area inner");
  shape("path", { class: "line", d: `M${inner.map(point).join("L")}` }, svg);
  shape("path", { class: "grid", d: `M0,${floor}H${WIDTH}` }, svg);
  const { marks, step } = ticks(axis.low, axis.high, 5);
  for (const mark of marks) {
    const x = axis.at(mark);
    if (x < 24 || x > WIDTH - 24) continue;
    shape("path", { class: "grid", d: `M${x.toFixed(2)},${floor}v5` }, svg);
    label(toTheDigit(mark, step * 10), { x: x.toFixed(2), y: floor + 20, class: "tick" }, svg);
  }
}

function drawBars(svg, names, p, words) {
  const order = p.map((_, c) => c);
  const shown = order.length <= MOST_BARS ? order : order.sort((a, b) => p[b] - p[a]);
  const rows = shown.slice(0, MOST_BARS);
  emptied(svg, 26 * rows.length, words);
  const labels = rows.map((c, i) => barName(names[c], 26 * i + 18, svg));
  const left = 16 + Math.max(24, ...labels.map((text) => text.getComputedTextLength()));
  const [right, height] = [WIDTH - 64, 18];
  rows.forEach((c, i) => {
    const y = 26 * i + 4;
    labels[i].setAttribute("x", left - 10);
    shape("rect", { class: "track", x: left, y, width: right - left, height, rx: 3 }, svg);
    const width = ((right - left) * p[c]).toFixed(2);
    shape("rect", { class: "box", x: left, y, width, height, rx: 3 }, svg);
    label(percent(p[c]), { x: right + 10, y: y + 14, class: "bar-share" }, svg);
  });
}

// The name of a bar, truncated to fit; the full name is a tooltip.
function barName(name, y, svg) {
  const text = shape("text", { y, class: "bar-name" }, svg);
  const letters = Array.from(name);
  text.textContent = name;
  const room = WIDEST_NAME / text.getComputedTextLength();
  for (let n = Math.floor(room * letters.length); n < letters.length; n--) {
    text.textContent = `${letters.slice(0, n).join("")}\u2026`;
    if (n === 0 || text.getComputedTextLength() <= WIDEST_NAME) break;
  }
  if (room < 1) shape("title", {}, text).textContent = name;
  return text;
}
