// Probabilities of classes, averaged over latent values that are normal.

const sigmoid = (a) => (a < 0 ? Math.exp(a) / (1 + Math.exp(a)) : 1 / (1 + Math.exp(-a)));

// The mean of the sigmoid by the trapezoid rule, whose step is small for the normal and the sigmoid.
function sigmoidMean(mean, variance) {
  const sd = Math.sqrt(variance);
  const step = Math.min(0.35, 0.5 / Math.max(sd, 1e-9));
  const count = Math.ceil(9 / step);
  let [sum, total] = [0, 0];
  for (let i = -count; i <= count; i++) {
    const t = i * step;
    const weight = Math.exp(-0.5 * t * t);
    sum += weight * sigmoid(mean + sd * t);
    total += weight;
  }
  return sum / total;
}

function twoClasses(mean, variance, averaging) {
  let p = sigmoid(mean);
  if (averaging === "approximate") p = sigmoid(mean / Math.sqrt(1 + (Math.PI / 8) * variance));
  if (averaging === "exact" && variance > 0) p = sigmoidMean(mean, variance);
  return [1 - p, p];
}

function softmax(a) {
  const largest = Math.max(...a);
  const e = a.map((value) => Math.exp(value - largest));
  const total = e.reduce((sum, value) => sum + value, 0);
  return e.map((value) => value / total);
}

// In closed form, from the variances of differences between pairs.
function softmaxApproximate(mean, S) {
  const logs = mean.map((m, c) => {
    const terms = mean.map((other, k) => {
      const variance = Math.max(S[c][c] + S[k][k] - 2 * S[c][k], 0);
      return -(m - other) / Math.sqrt(1 + (Math.PI / 8) * variance);
    });
    const largest = Math.max(...terms);
    return -largest - Math.log(terms.reduce((sum, t) => sum + Math.exp(t - largest), 0));
  });
  return softmax(logs);
}

// Over evenly spread points and their mirror images, as many as the width of the normal asks for.
// Classes are taken by falling mean, so that their order does not change a probability.
function softmaxMean(mean, S, options) {
  const order = [...mean.keys()].sort((c, d) => mean[d] - mean[c] || c - d);
  const ranked = order.map((c) => order.map((d) => S[c][d]));
  const p = rankedSoftmaxMean(order.map((c) => mean[c]), ranked, options);
  return mean.map((_, c) => p[order.indexOf(c)]);
}

function rankedSoftmaxMean(mean, S, { basis, tiers, points }) {
  const { factor, widest } = contrasts(S, basis);
  const J = factor.length;
  const [, log2] = tiers.find(([limit]) => limit === null || widest <= limit);
  if (log2 === 0) return softmax(mean);
  const half = 2 ** (log2 - 1);
  const stored = points.length / J;
  const sum = mean.map(() => 0);
  for (let n = 0; n < half; n++) {
    const moved = mean.map((_, c) => {
      let a = 0;
      for (let j = 0; j < J; j++) a += factor[j][c] * points[j * stored + n];
      return a;
    });
    for (const sign of [1, -1]) {
      softmax(mean.map((m, c) => m + sign * moved[c])).forEach((p, c) => (sum[c] += p));
    }
  }
  return sum.map((value) => value / (2 * half));
}

// Directions f_j with sum_j f_j f_j^T the covariance of contrasts, as those of the points.
function contrasts(S, basis) {
  const J = basis[0].length;
  const A = Array.from({ length: J }, (_, i) =>
    Array.from({ length: J }, (_, j) => {
      let sum = 0;
      for (let c = 0; c < S.length; c++) {
        for (let d = 0; d < S.length; d++) sum += basis[c][i] * S[c][d] * basis[d][j];
      }
      return sum;
    }),
  );
  const L = lowerFactor(A);
  const factor = L.map((_, j) => basis.map((row) => dot(row, L.map((entries) => entries[j]))));
  return { factor, widest: largestEigenvalue(A) };
}

// L, lower triangular, with L L^T = A to 1e-12 of its trace, of semidefinite A.
function lowerFactor(A) {
  const least = 1e-12 * A.reduce((sum, row, i) => sum + row[i], 0);
  const L = A.map((row) => row.map(() => 0));
  for (let j = 0; j < L.length; j++) {
    const left = (i) => A[i][j] - dot(L[i].slice(0, j), L[j].slice(0, j));
    L[j][j] = Math.sqrt(Math.max(left(j), 0) + least);
    for (let i = j + 1; i < L.length && L[j][j] > 0; i++) L[i][j] = left(i) / L[j][j];
  }
  return L;
}

// Of a small symmetric matrix, by Jacobi's rotations.
function largestEigenvalue(matrix) {
  const A = matrix.map((row) => row.slice());
  const n = A.length;
  for (let sweep = 0; sweep < 60; sweep++) {
    let off = 0;
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) off += A[p][q] ** 2;
    if (off === 0 || off < 1e-32 * A.reduce((sum, row, i) => sum + row[i] ** 2, 0)) break;
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) rotate(A, p, q);
  }
  return Math.max(...A.map((row, i) => row[i]), 0);
}

function rotate(A, p, q) {
  if (A[p][q] === 0) return;
  const theta = (A[q][q] - A[p][p]) / (2 * A[p][q]);
  const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const c = 1 / Math.sqrt(t * t + 1);
  const s = t * c;
  for (const row of A) [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]];
  for (let k = 0; k < A.length; k++) {
    [A[p][k], A[q][k]] = [c * A[p][k] - s * A[q][k], s * A[p][k] + c * A[q][k]];
  }
}
