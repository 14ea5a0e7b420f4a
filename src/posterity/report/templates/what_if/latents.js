// Columns to mean and covariance of latent values. Of a process, with k the covariances of a query
// with the rows, v = L^-1 (s k): the rows lower the prior variance by |v|^2, and a second triangle,
// where there is one, gives |L2^-1 v|^2 or |U v|^2 of it back.

const LATENTS = {
  weights({ coef, offset, posterior }) {
    const W = unpacked(coef);
    const M = W.length / offset.length;
    const covariance = posterior === null ? null : weightCovariance(posterior);
    return (z) => ({
      mean: offset.map((b, c) => b + dot(W.subarray(c * M, (c + 1) * M), z)),
      covariance: covariance && covariance(z),
    });
  },

  process({ kernel, rows, count, lower, roots, back, mean, second }) {
    const k = kernelOf(kernel);
    const about = unpackedRows(rows, count);
    const L = unpacked(lower);
    const s = roots && unpacked(roots);
    const T = (back ?? []).map(unpacked);
    const weights = unpacked(mean.weights);
    const more = second && moreVariance(second);
    return (x) => {
      const covariances = Float64Array.from(about, (row) => k.pair(x, row));
      const scaled = s ? covariances.map((value, n) => s[n] * value) : covariances;
      const v = solveLower(L, scaled);
      let variance = Math.max(k.self(x) - dot(v, v), 0);
      for (const t of T) variance += dot(t, covariances) ** 2;
      if (more) variance += more(v);
      const told = dot(weights, mean.of === "projections" ? v : covariances);
      return { mean: [mean.shift + told], covariance: [[variance]] };
    };
  },

  softmax_process({ kernel, rows, count, shift, offsets, duals, roots, lowers, lower }) {
    const k = kernelOf(kernel);
    const about = unpackedRows(rows, count);
    const b = duals.map(unpacked);
    const s = roots.map(unpacked);
    const each = lowers.map(unpacked);
    const L = unpacked(lower);
    const sums = b.map((column) => column.reduce((total, value) => total + value, 0));
    return (x) => {
      const covariances = Float64Array.from(about, (row) => k.pair(x, row));
      const prior = k.self(x);
      const variances = [];
      const parts = offsets.map((v, c) => {
        const V = solveLower(each[c], covariances.map((value, n) => s[c][n] * (value + v)));
        variances.push(Math.max(prior + v - dot(V, V), 0));
        return solveLower(L, solveLowerTransposed(each[c], V).map((value, n) => s[c][n] * value));
      });
      return {
        mean: shift.map((m, c) => m + dot(b[c], covariances) + offsets[c] * sums[c]),
        covariance: parts.map((p, c) =>
          parts.map((q, d) => dot(p, q) + (c === d ? variances[c] : 0)),
        ),
      };
    };
  },
};

function latentOf(form) {
  return LATENTS[form.kind](form);
}

// The variance that a second triangle adds.
function moreVariance({ lower, upper, ones }) {
  const triangle = unpacked(lower ?? upper);
  return (v) => {
    const entries = ones ? Float64Array.of(...v, 1) : v;
    const w = lower ? solveLower(triangle, entries) : multiplyUpper(triangle, entries);
    return dot(w, w);
  };
}

function weightCovariance(form) {
  const { center, scale, ones, which, whose, contrasts, deviations, outside, base } = form;
  const V = form.directions && unpacked(form.directions);
  const L = form.lower && unpacked(form.lower);
  const J = contrasts[0].length;
  return (z) => {
    const u = Float64Array.from(center, (c, m) => (z[m] - c) / scale[m]);
    const p = V ? projected(V, u) : u;
    const entries = ones ? [...p, 1] : p;
    const solved = Array.from({ length: J }, (_, j) => {
      const own = Float64Array.from(which, (m, i) => (whose[i] === j ? entries[m] : 0));
      return L ? solveLower(L, own) : own.map((value, i) => value * deviations[i]);
    });
    const rest = [outside].flat().some((v) => v > 0) ? squaredRest(V, u, p) : 0;
    const S = solved.map((a, i) =>
      solved.map((b, j) => dot(a, b) + (i === j ? each(outside, i) * rest + each(base, i) : 0)),
    );
    return contrasts.map((q) => contrasts.map((r) => between(q, S, r)));
  };
}

// One value for each latent value, or one for all.
const each = (values, i) => values[i] ?? values;

function between(q, S, r) {
  return S.reduce((sum, row, i) => sum + q[i] * dot(row, r), 0);
}

function projected(V, u) {
  const M = u.length;
  return Float64Array.from({ length: M ? V.length / M : 0 }, (_, i) =>
    dot(u, V.subarray(i * M, (i + 1) * M)),
  );
}

// The squared length of the part orthogonal to the directions.
function squaredRest(V, u, p) {
  const M = u.length;
  return u.reduce((sum, value, m) => {
    let rest = value;
    for (let i = 0; i < p.length; i++) rest -= V[i * M + m] * p[i];
    return sum + rest * rest;
  }, 0);
}
