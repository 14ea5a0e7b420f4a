// Distributions of a number: mean, standard deviation, density and cdf; least, the lowest value
// that has a density, where there is one.

const ROOT_2PI = Math.sqrt(2 * Math.PI);

function normal(mean, sd) {
  return {
    mean,
    sd,
    pdf: (y) => Math.exp(-0.5 * ((y - mean) / sd) ** 2) / (sd * ROOT_2PI),
    cdf: (y) => normalBelow((y - mean) / sd),
  };
}

function studentT(location, scale, freedom) {
  const log =
    logGamma((freedom + 1) / 2) - logGamma(freedom / 2) - 0.5 * Math.log(freedom * Math.PI);
  const cdf = (y) => {
    const t = (y - location) / scale;
    const tail = 0.5 * betaBelow(freedom / 2, 0.5, freedom / (freedom + t * t));
    return t < 0 ? tail : 1 - tail;
  };
  return {
    mean: location,
    sd: freedom > 2 ? scale * Math.sqrt(freedom / (freedom - 2)) : Infinity,
    pdf: (y) => {
      const t = (y - location) / scale;
      return Math.exp(log - 0.5 * (freedom + 1) * Math.log1p((t * t) / freedom)) / scale;
    },
    cdf,
    spread: scale,
  };
}

const studentTOrNormal = (location, scale, freedom) =>
  freedom === null ? normal(location, scale) : studentT(location, scale, freedom);

function gammaOf(shape, rate) {
  const log = shape * Math.log(rate) - logGamma(shape);
  return {
    mean: shape / rate,
    sd: Math.sqrt(shape) / rate,
    pdf: (y) => (y > 0 ? Math.exp(log + (shape - 1) * Math.log(y) - rate * y) : 0),
    cdf: (y) => gammaShares(shape, rate * y)[0],
    least: 0,
  };
}

// Density proportional to exp(-|(y - location) / scale|^power).
function generalNormal(location, scale, power) {
  const log = Math.log(power / (2 * scale)) - logGamma(1 / power);
  const cdf = (y) => {
    const z = (y - location) / scale;
    const [, above] = gammaShares(1 / power, Math.abs(z) ** power);
    return z < 0 ? 0.5 * above : 1 - 0.5 * above;
  };
  return {
    mean: location,
    sd: scale * Math.exp(0.5 * (logGamma(3 / power) - logGamma(1 / power))),
    pdf: (y) => Math.exp(log - Math.abs((y - location) / scale) ** power),
    cdf,
  };
}

function mixture(parts, weights) {
  const sum = (f) => parts.reduce((total, part, k) => total + weights[k] * f(part), 0);
  const mean = sum((part) => part.mean);
  return {
    mean,
    sd: Math.sqrt(sum((part) => part.sd ** 2 + (part.mean - mean) ** 2)),
    spread: Math.sqrt(sum((part) => (part.spread ?? part.sd) ** 2 + (part.mean - mean) ** 2)),
    pdf: (y) => sum((part) => part.pdf(y)),
    cdf: (y) => sum((part) => part.cdf(y)),
    least: Math.min(...parts.map((part) => part.least ?? -Infinity)),
  };
}

// The quantile of p between two ends, by a false position method that moves both ends.
function quantile(dist, p) {
  const unit = dist.spread ?? dist.sd;
  if (!(unit > 0)) return dist.mean;
  let [low, high] = [dist.mean - unit, dist.mean + unit];
  for (let step = unit; dist.cdf(low) > p && step < Infinity; step *= 2) low -= step;
  for (let step = unit; dist.cdf(high) < p && step < Infinity; step *= 2) high += step;
  let [below, above] = [dist.cdf(low) - p, dist.cdf(high) - p];
  for (let n = 0, last = 0; n < 200 && high - low > 1e-13 * (Math.abs(low) + unit); n++) {
    const secant = low - (below * (high - low)) / (above - below);
    const middle = n % 4 === 3 || !Number.isFinite(secant) ? 0.5 * (low + high) : secant;
    const value = dist.cdf(middle) - p;
    if (value === 0) return middle;
    if (value < 0) {
      [low, below] = [middle, value];
      if (last < 0) above *= 0.5;
    } else {
      [high, above] = [middle, value];
      if (last > 0) below *= 0.5;
    }
    last = Math.sign(value);
  }
  return 0.5 * (low + high);
}
