// From latent values to the prediction: a distribution of a number, or class probabilities.

const ANSWERS = {
  normal: ({ noise, scale, center }) => (mean, S) =>
    normal(center + scale * mean[0], Math.sqrt(scale ** 2 * variance(S) + noise)),

  student_t: ({ freedom, unit, noise }) => (mean, S) =>
    studentT(mean[0], Math.sqrt(unit * variance(S) + noise), freedom),

  // One latent value for each point of the learned variances.
  average: ({ freedom, noise, weights }) => (mean, S) =>
    mixture(
      mean.map((m, g) => studentTOrNormal(m, Math.sqrt(S[g][g] + noise[g]), freedom)),
      weights,
    ),

  general_normal: ({ scale, power }) => (mean) => generalNormal(mean[0], scale, power),

  scale_mixture: ({ variances, weights }) => (mean, S) =>
    mixture(
      variances.map((v) => normal(mean[0], Math.sqrt(v + variance(S)))),
      weights,
    ),

  gamma: (form) => (mean, S) => gammaAnswer(form, mean[0], variance(S)),

  two_classes: ({ averaging }) => (mean, S) => twoClasses(mean[0], variance(S), averaging),

  classes: (form) => {
    const points = form.points && unpacked(form.points);
    return (mean, S) => {
      if (mean.length === 1) return twoClasses(mean[0], 0, "none");
      if (form.averaging === "exact") return softmaxMean(mean, S, { ...form, points });
      return form.averaging === "none" ? softmax(mean) : softmaxApproximate(mean, S);
    };
  },
};

const variance = (S) => (S === null ? 0 : S[0][0]);

// Gamma components over nodes of the latent normal, widened as those of the gamma likelihood.
function gammaAnswer({ shape, end, step, nodes, most }, mean, v) {
  if (v === 0) return gammaOf(shape, shape * Math.exp(-mean));
  const reach = (sd) => 2 * (end + sd);
  const room = ((nodes * step) / reach(Math.sqrt(v))) ** 2 - 1;
  const wide = Math.min(shape, Math.max(room / v - 3, 1));
  const left = Math.max(v + Math.log1p(1 / shape) - Math.log1p(1 / wide), 0);
  const sd = Math.sqrt(left);
  const wanted = (reach(sd) / step) * Math.sqrt(1 + left * (wide + 3));
  const count = Math.min(Math.ceil(Math.max(wanted, 1)) + 1, most);
  const t = Array.from({ length: count }, (_, i) => -end + (reach(sd) * i) / (count - 1));
  const weights = softmax(t.map((value) => -0.5 * value * value));
  const used = t.map((_, i) => i).filter((i) => weights[i] > 1e-18);
  const middle = mean + 0.5 * (v - left);
  return mixture(
    used.map((i) => gammaOf(wide, wide * Math.exp(-(middle + sd * t[i])))),
    used.map((i) => weights[i]),
  );
}

function expertsAnswer({ columns, gates, experts }) {
  const z = columnsOf(columns);
  const trust = latentOf(gates);
  const each = experts.map(latentOf);
  return (x) => {
    const at = z(x);
    const shares = softmax(trust(at).mean);
    const said = each.map((expert) => classesAt(expert(at).mean));
    return said[0].map((_, c) => said.reduce((sum, p, k) => sum + shares[k] * p[c], 0));
  };
}

// Experts on all branches of a tree, each trusted by the product of the gates on its way.
function treeAnswer({ columns, gates, experts, first, steepness, hard }) {
  const z = columnsOf(columns);
  const gate = gates.offset.length ? latentOf(gates) : () => ({ mean: [] });
  const each = experts.map(latentOf);
  const open = (s) => (hard ? Number(s > 0) : sigmoid(steepness * s));
  return (x) => {
    const at = z(x);
    const trust = [1];
    for (const s of gate(at).mean) {
      const own = trust[(trust.length - 1) / 2];
      const right = open(s);
      trust.push(own * (1 - right), own * right);
    }
    const said = each.map((expert) => expert(at).mean);
    return classesAt(said[0].map((_, c) => dot(trust.slice(first), said.map((a) => a[c]))));
  };
}

// The form of a likelihood with another first parameter, from the form where that is one.
const WITH_FIRST = {
  normal: (form, s) => ({ ...form, noise: s }),
  scale_mixture: (form, s) => ({ ...form, variances: form.variances.map((v) => s * s * v) }),
  gamma: (form, s) => ({ ...form, shape: s }),
};

// A location by trees, and the first parameter of the likelihood by trees of its own.
function boostedNumbers(form) {
  const location = boostedSums(form.location);
  const spread = form.spread && boostedSums(form.spread);
  const { answer, shift, information, power, variance_factor } = form;
  return (x) => {
    const { sums, variance } = location(x);
    const first = Math.exp(shift + (spread ? spread(x).sums[0] : 0));
    const open = (variance_factor * variance) / (information * first ** power);
    const own = WITH_FIRST[answer.kind](answer, first);
    return ANSWERS[answer.kind](own)(sums, [[open]]);
  };
}

const classesAt = (a) => (a.length === 1 ? twoClasses(a[0], 0, "none") : softmax(a));

// Of distributions of a number their mixture, of class probabilities their mean.
function averaged(said, weights) {
  if (!Array.isArray(said[0])) return mixture(said, weights);
  return said[0].map((_, c) => dot(weights, said.map((p) => p[c])));
}

// The prediction of the model for encoded inputs.
function predictorOf(model) {
  if (model.kind === "normal_forest") return normalForest(model);
  if (model.kind === "class_forest") return classForest(model);
  if (model.kind === "boosted_numbers") return boostedNumbers(model);
  if (model.kind === "experts") return expertsAnswer(model);
  if (model.kind === "logistic_tree") return treeAnswer(model);
  if (model.kind === "mixture") {
    const parts = model.of.map(predictorOf);
    return (x) => averaged(parts.map((part) => part(x)), model.weights);
  }
  if (model.kind === "steps" || model.kind === "boosted_trees") {
    const latent = model.kind === "steps" ? steps(model) : boostedTrees(model);
    return (x) => classesAt(latent(x));
  }
  const columns = columnsOf(model.columns);
  const latent = latentOf(model.latent);
  const answer = ANSWERS[model.answer.kind](model.answer);
  return (x) => {
    const { mean, covariance } = latent(columns(x));
    return answer(mean, covariance);
  };
}

// From the values of inputs to {mean, sd, quantile} of a number, or to {probabilities}.
function makePredictor(data) {
  const says = predictorOf(data.model);
  return (values) => {
    const said = says(Float64Array.from(encoded(data.inputs, values)));
    if (data.task === "classification") return { probabilities: said };
    return { ...said, quantile: (p) => quantile(said, p) };
  };
}
