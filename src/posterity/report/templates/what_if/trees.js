// Forests, boosted steps and boosted trees.

// Whether a row goes to the first side; a missing value is larger than all others, or, where the
// place is -1 - column, smaller.
function isFirst(x, place, threshold) {
  if (place >= 0) return x[place] <= threshold;
  return Number.isNaN(x[-1 - place]) || x[-1 - place] <= threshold;
}

// From the order of nodes: where the second child of each begins, and which leaf each leaf is.
function grown({ trees, tests, stream, codes, thresholds }) {
  const order = unpacked(stream);
  const code = unpacked(codes);
  const cuts = thresholds.map(unpacked);
  const second = new Int32Array(order.length);
  const threshold = new Float64Array(order.length);
  const roots = [];
  let [place, inner, leaf] = [0, 0, 0];
  for (let t = 0; t < trees; t++) {
    roots.push(place);
    const open = [];
    for (let more = true; more; place++) {
      if (order[place] > 0) {
        threshold[place] = cuts[order[place] - 1][code[inner++]];
        open.push(place);
        continue;
      }
      second[place] = leaf++;
      // The first of the nodes above that still waits for its second child gets it next.
      while (open.length && second[open[open.length - 1]] > 0) open.pop();
      if (open.length) second[open[open.length - 1]] = place + 1;
      more = open.length > 0;
    }
  }
  return (x) =>
    roots.map((root) => {
      let at = root;
      while (order[at] > 0) {
        const goesFirst = isFirst(x, tests[order[at] - 1], threshold[at]);
        at = goesFirst ? at + 1 : second[at];
      }
      return second[at];
    });
}

function normalForest({ nodes, means, deviations, sharpness }) {
  const leaves = grown(nodes);
  const mean = unpacked(means);
  const sd = unpacked(deviations);
  return (x) => {
    const found = leaves(x);
    const center = found.reduce((sum, leaf) => sum + mean[leaf], 0) / found.length;
    const parts = found.map((leaf) =>
      normal(center + (mean[leaf] - center) / Math.sqrt(sharpness), sd[leaf]),
    );
    return mixture(parts, new Array(parts.length).fill(1 / parts.length));
  };
}

function classForest({ nodes, sizes, classes, counts, base, concentration, sharpness }) {
  const leaves = grown(nodes);
  const [size, label, count] = [sizes, classes, counts].map(unpacked);
  const first = new Int32Array(size.length + 1);
  size.forEach((n, leaf) => (first[leaf + 1] = first[leaf] + n));
  return (x) => {
    const sum = base.map(() => 0);
    const found = leaves(x);
    for (const leaf of found) {
      let total = concentration;
      for (let k = first[leaf]; k < first[leaf + 1]; k++) total += count[k];
      for (let k = first[leaf]; k < first[leaf + 1]; k++) sum[label[k]] += count[k] / total;
      base.forEach((b, c) => (sum[c] += (concentration / total) * b));
    }
    return softmax(sum.map((value) => sharpness * Math.log(value / found.length)));
  };
}

function steps({ offset, tests, which, thresholds, values }) {
  const [test, threshold, value] = [which, thresholds, values].map(unpacked);
  const C = offset.length;
  return (x) =>
    offset.map((start, c) => {
      let total = start;
      for (let k = 0; k < test.length; k++) {
        const side = isFirst(x, tests[test[k]], threshold[k]) ? 0 : 1;
        total += value[(2 * k + side) * C + c];
      }
      return total;
    });
}

// Oblivious trees: the answers to the tests of a tree are the bits of its leaf. Returns the sums,
// and what leaf values leave open of them.
function boostedSums(model) {
  const { offset, tests, members } = model;
  const packed = [model.depths, model.which, model.thresholds, model.values, model.variances];
  const [depth, test, threshold, value, open] = packed.map(unpacked);
  const C = offset.length;
  return (x) => {
    const sums = offset.slice();
    let [variance, node, first] = [0, 0, 0];
    for (const levels of depth) {
      let leaf = first;
      for (let d = 0; d < levels; d++, node++) {
        if (!isFirst(x, tests[test[node]], threshold[node])) leaf += 2 ** d;
      }
      for (let c = 0; c < C; c++) sums[c] += value[leaf * C + c] / members;
      variance += open[leaf] / members;
      first += 2 ** levels;
    }
    return { sums, variance };
  };
}

function boostedTrees(model) {
  const at = boostedSums(model);
  const { sharpness, variance_factor } = model;
  return (x) => {
    const { sums, variance } = at(x);
    const width = sharpness * sharpness * variance_factor * variance;
    const scale = sharpness / Math.sqrt(1 + (Math.PI / 8) * width);
    return sums.map((value) => scale * value);
  };
}
