// Format numbers and dates for people, and for the inputs of a form.

const DAY = 86400000;

function fixed(value, decimals) {
  const text = Math.abs(value).toFixed(Math.min(Math.max(decimals, 0), 20));
  const [whole, rest] = text.split(".");
  const apart = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
  const sign = value < 0 && /[1-9]/.test(text) ? "\u2212" : "";
  return sign + apart + (rest ? `.${rest}` : "");
}

// Format a value to the second digit of its uncertainty; with a power of ten if it is too long.
function toTheDigit(value, uncertainty) {
  if (!Number.isFinite(value)) return value > 0 ? "\u221e" : "\u2212\u221e";
  const unit = Number.isFinite(uncertainty) && uncertainty > 0 ? uncertainty : Math.abs(value) || 1;
  const decimals = 1 - Math.floor(Math.log10(unit));
  if (Math.abs(value) < 1e7 && decimals <= 6) return fixed(value, decimals);
  const digits = Math.floor(Math.log10(Math.abs(value) || unit)) + decimals;
  return value.toExponential(Math.min(Math.max(digits, 0), 15)).replace("-", "\u2212");
}

function percent(p) {
  if (p > 0 && p < 0.001) return "< 0.1 %";
  if (p < 1 && p > 0.999) return "> 99.9 %";
  return `${(100 * p).toFixed(p < 0.1 || p > 0.9 ? 1 : 0)} %`;
}

// Days since 1970-01-01 as the text of a date, a datetime-local or a time input.
function writtenDate(days, written) {
  const text = new Date(Math.round(days * 1440) * 60000).toISOString();
  if (written === "time") return text.slice(11, 16);
  return written === "date" ? text.slice(0, 10) : text.slice(0, 16);
}

function readDate(text, written) {
  const moment = { date: `${text}T00:00Z`, datetime: `${text}Z`, time: `1970-01-01T${text}Z` };
  const time = Date.parse(moment[written]);
  return Number.isNaN(time) ? null : time / DAY;
}

// Return about this many round numbers between two ends.
function ticks(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const marks = [];
  for (let i = first; i <= last && marks.length < 50; i++) marks.push(i * step);
  return { marks, step };
}
