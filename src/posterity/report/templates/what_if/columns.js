// Encoded inputs to the columns that weights belong to.

const COLUMNS = {
  identity: () => (x) => x,

  none: () => () => [],

  polynomial: ({ parents, factors }) => (x) => {
    const z = new Float64Array(parents.length);
    parents.forEach((parent, m) => (z[m] = (parent < 0 ? 1 : z[parent]) * x[factors[m]]));
    return z;
  },

  bumps: ({ places, centres, lengths }) => (x) =>
    places.map((d, m) => Math.exp(-0.5 * ((x[d] - centres[m]) / lengths[m]) ** 2)),

  arctan: ({ places, offsets, slopes }) => (x) =>
    places.map((d, m) => Math.atan(slopes[m] * (x[d] - offsets[m]))),

  heaviside: ({ places, thresholds }) => (x) =>
    places.map((d, m) => (x[d] >= thresholds[m] ? 1 : 0)),

  learned_arctan: ({ location, scale, units }) => (x) => {
    const u = standardised(x, location, scale);
    return units.map((unit) => Math.atan(dot(u, unit) + unit[u.length]));
  },

  learned_radial: ({ location, scale, units }) => (x) => {
    const u = standardised(x, location, scale);
    return units.map((unit) => {
      const r2 = u.reduce((sum, value, d) => sum + (value - unit[d]) ** 2, 0);
      return Math.exp(-0.5 * r2 * Math.exp(-2 * unit[u.length]));
    });
  },

  kernel: ({ kernel, rows, count }) => {
    const k = kernelOf(kernel);
    const about = unpackedRows(rows, count);
    return (x) => about.map((row) => k.pair(x, row));
  },

  chosen: ({ of, places }) => {
    const inner = columnsOf(of);
    return (x) => {
      const z = inner(x);
      return places.map((place) => z[place]);
    };
  },

  with_ones: ({ of }) => {
    const inner = columnsOf(of);
    return (x) => [...inner(x), 1];
  },

  chain: ({ of }) => {
    const parts = of.map(columnsOf);
    return (x) => parts.reduce((z, part) => part(z), x);
  },

  centred: ({ of, weights, about }) => {
    const inner = columnsOf(of);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return (x) => {
      const z = inner(x);
      const mean = about ? dot(weights, z) / total : 0;
      return Array.from(z, (value, n) => (value - mean) * Math.sqrt(weights[n]));
    };
  },
};

function columnsOf(form) {
  return COLUMNS[form.kind](form);
}

function standardised(x, location, scale) {
  return Array.from(x, (value, d) => (value - location[d]) / scale[d]);
}
