// One control for each input: a slider and a box for a number, a list for a category, buttons for
// one of two.

const MISSING = "missing";

function made(name, attributes, parent, text) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

// A control has a value, null for missing, and calls back when it changes.
function controlOf(input, place, parent, changed) {
  const row = made("div", { class: "input" }, parent);
  const id = `what-if-${place}`;
  const make = { number: numberControl, category: categoryControl, date: dateControl };
  const pair = pairOf(input);
  const name = { class: "name", dir: "auto" };
  if (pair) made("span", { ...name, id: `${id}-name` }, row, input.name);
  else made("label", { ...name, for: id }, row, input.name);
  const control = pair
    ? pairControl(input, pair, id, row, changed)
    : make[input.kind](input, id, row, changed);
  const note = made("span", { class: "outside", id: `${id}-note` }, row);
  row.querySelector(`#${id}`).setAttribute("aria-describedby", note.id);
  return {
    ...control,
    look() {
      const strange = control.isStrange();
      note.textContent = strange;
      row.classList.toggle("is-outside", strange !== "");
    },
  };
}

// The two values of a category or number that has no others.
function pairOf(input) {
  const values = input.kind === "category" ? input.levels : input.values;
  return values?.length === 2 && !input.other ? values : null;
}

function pairControl(input, pair, id, row, changed) {
  const group = made("div", { id, class: "pair", role: "radiogroup" }, row);
  group.setAttribute("aria-labelledby", `${id}-name`);
  const isKnownMissing = input.kind === "category" ? input.missing : input.indicator;
  const values = isKnownMissing ? [...pair, null] : pair;
  const buttons = values.map((value) => {
    const label = made("label", { dir: "auto" }, group);
    const button = made("input", { type: "radio", name: id }, label);
    made("span", {}, label, value === null ? `(${MISSING})` : String(value).replace(/^-/, "\u2212"));
    button.addEventListener("input", changed);
    return button;
  });
  const set = (value) => {
    buttons[values.indexOf(value)].checked = true;
  };
  const start = pair.includes(input.start)
    ? input.start
    : pair[Number(input.start - pair[0] > pair[1] - input.start)];
  return {
    set,
    reset: () => set(start),
    value: () => values[buttons.findIndex((button) => button.checked)],
    isStrange: () => "",
  };
}

function categoryControl(input, id, row, changed) {
  const list = made("select", { id }, row);
  input.levels.forEach((level, i) => made("option", { value: String(i) }, list, level));
  if (input.other) made("option", { value: "other" }, list, "(other)");
  made("option", { value: MISSING }, list, "(missing)");
  list.addEventListener("input", changed);
  const set = (value) => {
    const found = input.levels.indexOf(value);
    list.value = value === null ? MISSING : found < 0 ? "other" : String(found);
  };
  return {
    set,
    reset: () => set(input.start),
    // Any text other than a known level means "other".
    value: () =>
      list.value === MISSING ? null : list.value === "other" ? "" : input.levels[list.value],
    isStrange: () => (list.value === MISSING && !input.missing ? "never missing in the training data" : ""),
  };
}

function numberControl(input, id, row, changed) {
  const step = input.whole ? 1 : 10 ** Math.floor(Math.log10((input.high - input.low) / 100 || 1));
  const written = (value) => String(Number(value.toPrecision(12)));
  return ranged(input, row, changed, {
    step,
    box: made("input", { id, type: "number", step: "any", inputmode: "decimal" }, row),
    read: (text) => (text.trim() === "" || !Number.isFinite(Number(text)) ? null : Number(text)),
    write: written,
    say: (value) => written(value).replace("-", "\u2212"),
  });
}

function dateControl(input, id, row, changed) {
  const type = { date: "date", datetime: "datetime-local", time: "time" }[input.written];
  const write = (value) => writtenDate(value, input.written);
  return ranged(input, row, changed, {
    step: input.written === "date" ? 1 : 1 / 1440,
    box: made("input", { id, type }, row),
    read: (text) => (text === "" ? null : readDate(text, input.written)),
    write,
    say: (value) => write(value).replace("T", " "),
  });
}

// A slider over the range of the training data, and a box for any value; empty means missing.
function ranged(input, row, changed, { step, box, read, write, say }) {
  const low = step * Math.floor(input.low / step);
  const high = step * Math.ceil(input.high / step);
  const start = Math.min(Math.max(step * Math.round(input.start / step), low), high);
  const slider = made("input", { type: "range", "aria-label": `${input.name}, slider` }, row);
  Object.assign(slider, { min: low, max: Math.max(high, low + step), step });
  row.insertBefore(slider, box);
  box.placeholder = MISSING;
  let current = null;
  const set = (value) => {
    current = value;
    box.value = value === null ? "" : write(value);
    if (value !== null) slider.value = String(value);
    slider.classList.toggle("is-missing", value === null);
    slider.setAttribute("aria-valuetext", value === null ? MISSING : say(value));
  };
  slider.addEventListener("input", () => {
    set(Number(Number(slider.value).toPrecision(12)));
    changed();
  });
  box.addEventListener("input", () => {
    current = read(box.value);
    if (current !== null) slider.value = String(current);
    slider.classList.toggle("is-missing", current === null);
    changed();
  });
  return {
    set,
    reset: () => set(input.start === null ? null : Number(start.toPrecision(12))),
    value: () => current,
    isStrange() {
      if (current === null) return input.indicator || input.gaps ? "" : "never missing in the training data";
      const slack = 1e-9 * step;
      if (current >= low - slack && current <= high + slack) return "";
      return `outside the training data: ${say(low)} to ${say(high)}`;
    },
  };
}
