// Special functions to about fourteen digits.

const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
  -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
  1.5056327351493116e-7,
];
const TINY = 1e-300;
const ENOUGH = 1e-16;
const MOST_TERMS = 100000;

function logGamma(x) {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  let sum = LANCZOS[0];
  for (let i = 1; i < 9; i++) sum += LANCZOS[i] / (x - 1 + i);
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

// The cdf and its complement of a gamma distribution of this shape at x.
function gammaShares(shape, x) {
  if (!(x > 0)) return [0, 1];
  if (x === Infinity) return [1, 0];
  const front = Math.exp(shape * Math.log(x) - x - logGamma(shape));
  if (x < shape + 1) {
    const below = front * gammaSeries(shape, x);
    return [below, 1 - below];
  }
  const above = front * gammaFraction(shape, x);
  return [1 - above, above];
}

function gammaSeries(a, x) {
  let term = 1 / a;
  let sum = term;
  for (let n = 1; n < MOST_TERMS && term > ENOUGH * sum; n++) {
    term *= x / (a + n);
    sum += term;
  }
  return sum;
}

// Lentz's method for a continued fraction.
function gammaFraction(a, x) {
  let b = x + 1 - a;
  let c = 1 / TINY;
  let d = 1 / b;
  let h = d;
  for (let n = 1; n < MOST_TERMS; n++) {
    const an = -n * (n - a);
    b += 2;
    d = 1 / nonzero(an * d + b);
    c = nonzero(b + an / c);
    h *= d * c;
    if (Math.abs(d * c - 1) < ENOUGH * 10) break;
  }
  return h;
}

function nonzero(x) {
  return Math.abs(x) < TINY ? TINY : x;
}

function normalBelow(z) {
  const [, above] = gammaShares(0.5, 0.5 * z * z);
  return z < 0 ? 0.5 * above : 1 - 0.5 * above;
}

// The cdf of a beta distribution at x.
function betaBelow(a, b, x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const log = logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x);
  const front = Math.exp(log);
  if (x < (a + 1) / (a + b + 2)) return (front * betaFraction(a, b, x)) / a;
  return 1 - (front * betaFraction(b, a, 1 - x)) / b;
}

function betaFraction(a, b, x) {
  let c = 1;
  let d = 1 / nonzero(1 - ((a + b) * x) / (a + 1));
  let h = d;
  for (let m = 1; m < MOST_TERMS; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / nonzero(1 + even * d);
    c = nonzero(1 + even / c);
    h *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / nonzero(1 + odd * d);
    c = nonzero(1 + odd / c);
    h *= d * c;
    if (Math.abs(d * c - 1) < ENOUGH * 10) break;
  }
  return h;
}
