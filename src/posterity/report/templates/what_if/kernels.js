// Kernels: k(x, z) of two rows, and k(x, x) of one.

const KERNELS = {
  rbf: ({ lengths }) => stationary(lengths, (r2) => Math.exp(-0.5 * r2)),

  matern: ({ lengths, smoothness }) =>
    stationary(lengths, (r2) => {
      const s = Math.sqrt(2 * smoothness * r2);
      if (smoothness === 0.5) return Math.exp(-s);
      return (smoothness === 1.5 ? 1 + s : 1 + s + (s * s) / 3) * Math.exp(-s);
    }),

  rational_quadratic: ({ lengths, shape }) =>
    stationary(lengths, (r2) => Math.exp(-shape * Math.log1p(r2 / (2 * shape)))),

  periodic: ({ period, length }) => ({
    pair: (x, z) => {
      let sum = 0;
      for (let d = 0; d < x.length; d++) sum += Math.sin((Math.PI * (x[d] - z[d])) / period) ** 2;
      return Math.exp((-2 * sum) / length ** 2);
    },
    self: () => 1,
  }),

  linear: ({ centre, variances }) =>
    symmetric((x, z) =>
      variances.reduce((sum, v, d) => sum + v * (x[d] - centre[d]) * (z[d] - centre[d]), 0),
    ),

  polynomial: ({ degree, offset }) => symmetric((x, z) => (dot(x, z) + offset) ** degree),

  constant: ({ variance }) => symmetric(() => variance),

  white: ({ variance }) => ({ pair: () => 0, self: () => variance }),

  scaled: ({ variance, of }) => {
    const k = kernelOf(of);
    return { pair: (x, z) => variance * k.pair(x, z), self: (x) => variance * k.self(x) };
  },

  sum: ({ of }) => {
    const [a, b] = of.map(kernelOf);
    return { pair: (x, z) => a.pair(x, z) + b.pair(x, z), self: (x) => a.self(x) + b.self(x) };
  },

  product: ({ of }) => {
    const [a, b] = of.map(kernelOf);
    return { pair: (x, z) => a.pair(x, z) * b.pair(x, z), self: (x) => a.self(x) * b.self(x) };
  },

  columns: ({ places, of }) => {
    const k = kernelOf(of);
    const chosen = (x) => places.map((place) => x[place]);
    return { pair: (x, z) => k.pair(chosen(x), chosen(z)), self: (x) => k.self(chosen(x)) };
  },
};

function kernelOf(form) {
  return KERNELS[form.kind](form);
}

function symmetric(pair) {
  return { pair, self: (x) => pair(x, x) };
}

function stationary(lengths, correlation) {
  const pair = (x, z) => {
    let r2 = 0;
    for (let d = 0; d < lengths.length; d++) r2 += ((x[d] - z[d]) / lengths[d]) ** 2;
    return correlation(r2);
  };
  return { pair, self: () => 1 };
}
