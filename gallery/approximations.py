"""A Gaussian process classifier three ways: exactly, by Laplace, by propagation.  [GPML 3.7]

Exact means by a hundred thousand functions, drawn about the posterior and weighted. Laplace is too
cautious, by up to 0.07; expectation propagation lies on the exact curve.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats
from scipy.special import log_expit, logsumexp

from posterity import GaussianProcessClassifier, displays, kernels, likelihoods

OUT = Path(__file__).parent / "out"

rng = np.random.default_rng(3)
X = np.sort(rng.uniform(-5.0, 5.0, size=16))[:, None]
y = (np.sin(1.1 * X[:, 0]) > 0.0).astype(int)
queries = np.linspace(-7.0, 7.0, 120)[:, None]
kernel = (16.0 * kernels.RBF(1.5)).fixed()
laplace, propagation = (
    GaussianProcessClassifier(kernel, mean="zero", inference=inference).fit(X, y)
    for inference in ("laplace", "propagation")
)


def exact(n_functions=100_000):
    """Log evidence and probabilities by importance sampling; a t reaches into the tails."""
    K = kernel(X) + 1e-5 * np.eye(len(X))
    center = propagation.predict_latent(X).mean()
    spread = propagation.posterior_.joint(X).covariance[0] + 1e-5 * np.eye(len(X))
    proposal = stats.multivariate_t(center, spread, df=10)
    f = proposal.rvs(n_functions, random_state=0)
    log_joint = stats.multivariate_normal(cov=K).logpdf(f) + log_expit((2 * y - 1) * f).sum(axis=1)
    log_w = log_joint - proposal.logpdf(f)
    kept = rng.choice(n_functions, 4000, p=np.exp(log_w - logsumexp(log_w)))
    A = np.linalg.solve(K, kernel(X, queries))
    variance = kernel.diag(queries) - np.sum(A * kernel(X, queries), axis=0)
    spread_of = np.broadcast_to(np.maximum(variance, 0.0), (4000, 120))
    p = likelihoods.Bernoulli().predict(f[kept] @ A, spread_of).mean().mean(axis=0)
    return logsumexp(log_w) - np.log(n_functions), p


log_evidence, p = exact()
looks = (("Laplace", laplace, "orange", "--"), ("propagation", propagation, "sky", "-"))
black = displays.COLORS["black"]
with displays.style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.6), sharex=True)
    left.plot(queries, p, color=black, lw=3.0, label=f"exact: {log_evidence:.2f}")
    right.axhline(0.0, color=black, lw=3.0)
    for name, model, color, line in looks:
        told = model.predict_proba(queries)[:, 1]
        look = {"color": displays.COLORS[color], "label": f"{name}: {model.log_evidence_:.2f}"}
        left.plot(queries, told, line, **look)
        right.plot(queries, told - p, line, **look)
    left.plot(X, y, "o", color=black, ms=5)
    left.set(title="Probability", xlabel="x", ylabel="probability of the second class")
    right.set(title="Less the exact one", xlabel="x", ylabel="difference", ylim=(-0.09, 0.09))
    names = left.get_legend_handles_labels()
    figure.legend(*names, loc="outside lower center", ncols=3, title="log evidence")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "approximations.png")
