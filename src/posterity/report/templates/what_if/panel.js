// The panel: inputs on one side, the prediction on the other.

const FIRST_SHOWN = 12;
const NO_ANSWER = "no prediction";

function inOrder(data) {
  const places = data.inputs.map((_, i) => i);
  const rank = new Map(data.first.map((name, i) => [name, i]));
  const of = (i) => rank.get(data.inputs[i].name) ?? rank.size + i;
  return places.sort((a, b) => of(a) - of(b));
}

function sayNumber(data, said) {
  const level = { least: 0.005, q05: 0.05, q25: 0.25, median: 0.5, q75: 0.75, q95: 0.95, most: 0.995 };
  const q = Object.fromEntries(Object.entries(level).map(([key, p]) => [key, said.quantile(p)]));
  const unit = (q.q95 - q.q05) / 3.3;
  const middle = Number.isFinite(said.mean) ? said.mean : q.median;
  const [mean, low, high] = [middle, q.q05, q.q95].map((value) => toTheDigit(value, unit));
  const exact = { mean: middle, sd: said.sd, ...q };
  const known = Number.isFinite(q.least) && q.least < q.most;
  return { known, q, exact, head: mean, rest: `90 % interval: ${low} to ${high}` };
}

function sayClass(data, { probabilities }) {
  const best = probabilities.indexOf(Math.max(...probabilities));
  const exact = { probabilities: JSON.stringify(probabilities) };
  const known = probabilities.every(Number.isFinite);
  return { known, exact, head: data.classes[best], rest: `probability ${percent(probabilities[best])}` };
}

function mounted(mount, data) {
  const answer = makePredictor(data);
  const isNumber = data.task === "regression";
  const form = made("div", { class: "inputs", role: "group", "aria-label": "Inputs" }, mount);
  const result = made("div", { class: "answer" }, mount);
  const output = made("p", { class: "said", role: "status", "aria-live": "polite" }, result);
  made("bdi", { class: "target" }, output, data.target);
  const head = made("strong", { dir: "auto" }, output);
  const rest = made("span", {}, output);
  const svg = shape("svg", { role: "img" }, result);
  const warning = made("p", { class: "outside" }, result);
  const axis = new Axis();
  const controls = new Array(data.inputs.length);

  const update = () => {
    const said = answer(controls.map((control) => control.value()));
    const words = isNumber ? sayNumber(data, said) : sayClass(data, said);
    head.textContent = words.known ? words.head : NO_ANSWER;
    rest.textContent = words.known ? words.rest : "so far from the training data";
    Object.assign(output.dataset, words.exact);
    const told = `${data.target}: ${head.textContent}, ${rest.textContent}`;
    if (!words.known) emptied(svg, 1, told);
    else if (isNumber) drawDensity(svg, axis, said, words.q, told);
    else drawBars(svg, data.classes, said.probabilities, told);
    for (const control of controls) control.look();
    const strange = mount.querySelectorAll(".is-outside").length;
    warning.textContent = strange ? "Some inputs are outside the range of the training data." : "";
  };

  let waiting = false;
  const changed = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      update();
    });
  };
  const reset = () => {
    for (const control of controls) control.reset();
    axis.low = null;
    update();
  };

  const order = inOrder(data);
  let parent = form;
  order.forEach((place, n) => {
    if (n === FIRST_SHOWN && order.length > FIRST_SHOWN + 2) {
      parent = made("details", {}, form);
      made("summary", {}, parent, `${order.length - FIRST_SHOWN} more inputs`);
    }
    controls[place] = controlOf(data.inputs[place], place, parent, changed);
  });
  const button = made("button", { type: "button" }, form, "Reset");
  button.addEventListener("click", reset);
  window.addEventListener("resize", changed); // font sizes differ on narrow screens
  if (data.model.note) made("p", { class: "note" }, result, data.model.note);
  reset();
  // For scripts: values in, the prediction out, in full precision.
  mount.answer = (values) => {
    const said = answer(values);
    return isNumber ? sayNumber(data, said).exact : said.probabilities;
  };
}

const mount = document.getElementById("what-if");
const data = document.getElementById("what-if-data");
if (mount && data) mounted(mount, JSON.parse(data.textContent));
