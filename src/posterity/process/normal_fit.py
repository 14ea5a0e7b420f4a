"""The record of a Gaussian process under normal noise, and its predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posterity import arrays, callers, distributions, kernels, linalg, validation
from posterity.arrays import Array, DeviceArray, namespace
from posterity.inference.averaging import PosteriorMixture, split_mixture
from posterity.inference.observations import HeldRows, ObservedRows
from posterity.inference.posterior import LatentJoint
from posterity.kernels.mean_prior import Slopes
from posterity.likelihoods import exposed_counts as exposed
from posterity.models.fitted import SearchReport
from posterity.models.training import ColumnMoments, Training, make_query_noise
from posterity.process import (
    InducingPosterior,
    ProcessPosterior,
    SeparateOutputs,
    condition_on_points,
)
from posterity.process.inducing.partitions import PartitionedTraining

JITTER = 1e-10  # of the mean prior variance, where there is no noise: a millionth of values
_MOST_GAP = 10.0  # nats a target; at the noise of the largest bound it is below one
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class TargetScale:
    """Centre and scale that are taken off targets before the process sees them."""

    center: Array  # (K,)
    scale: Array  # (K,)
    variance: float  # of the centred and scaled targets, averaged over outputs

    @classmethod
    def from_moments(cls, moments: ColumnMoments, *, centred: bool, scaled: bool) -> TargetScale:
        """Centre, scale and variance of targets with these moments."""
        mean = moments.mean
        center = mean if centred else np.zeros_like(mean)
        deviation = np.maximum(np.abs(moments.low - center), np.abs(moments.high - center))
        validation.check_spread(deviation, "targets")
        # What does not vary at all is known to rounding, not better.
        floor = (_EPS * np.where(mean == 0.0, 1.0, mean)) ** 2
        spread2 = np.maximum(moments.variance, floor)
        scale = np.sqrt(spread2) if scaled else np.ones_like(mean)
        about = np.maximum(moments.variance + (mean - center) ** 2, floor)
        return cls(center, scale, float(np.mean(about / scale**2)))


@dataclass(frozen=True)
class NormalFit:
    """A process conditioned on rows under normal noise: what was learned, and what it predicts.

    Predictions take rows that were checked. One-dimensional targets have predictions (n,), others
    (n, K).
    """

    # Of all outputs, or a tuple of one for each:
    kernel: kernels.Kernel | Slopes | tuple[kernels.Kernel | Slopes, ...]
    # In the units that the process sees:
    posterior: ProcessPosterior | InducingPosterior | SeparateOutputs | PosteriorMixture
    noise_variance: Any  # a number, or (K,)
    jitter: Any  # likewise
    log_evidence: float
    evidence_gap: float
    inducing_points: Any  # None without
    X_train: Any
    search: SearchReport
    targets: TargetScale
    training: Training | None  # None where the rows stayed on the workers of Dask
    learned_noise: Any  # of the process: a number, or one for each output learned separately
    single_output: bool  # whether the target was one-dimensional
    asked: tuple[Any, ...]  # what a later fit must ask for to start from this one

    @classmethod
    def describe(
        cls,
        kernel: Any,
        posterior: Any,
        learned_noise: Any,
        *,
        targets: TargetScale,
        training: Training | PartitionedTraining,
        X_train: Any,
        search: SearchReport,
        asked: tuple[Any, ...],
        single_output: bool,
    ) -> NormalFit:
        """Make the record with what follows from the posterior, in the units of the targets."""
        scale2, known = targets.scale**2, training.mean_known_noise
        noise = learned_noise * scale2 if known is None else np.full_like(scale2, known)
        jitter = (0.0 if np.any(learned_noise) else posterior.noise_variance) * scale2
        parts = getattr(posterior, "parts", (posterior,))
        points = [part.Z for part in parts if isinstance(part, InducingPosterior)]
        if points:
            _check_gap(posterior, training.total_weight * len(scale2))
        jacobian = training.total_weight * float(np.sum(np.log(targets.scale)))
        return cls(
            kernel,
            posterior,
            float(noise[0]) if single_output else noise,
            float(jitter[0]) if single_output else jitter,
            posterior.log_evidence - jacobian,
            posterior.gap if points else 0.0,
            None if not points else points[0] if len(points) == 1 else tuple(points),
            X_train,
            search,
            targets,
            training if isinstance(training, Training) else None,
            learned_noise,
            single_output,
            asked,
        )

    def with_rows(self, rows: Any, Y: Array) -> NormalFit:
        """Conditioned on further rows, each of weight one, the parameters kept."""
        if self.training is None:
            raise TypeError(
                "The rows of the fit stayed on the workers of Dask; fit all rows again to add some."
            )
        if self.training.known_noise is not None:
            raise ValueError("Rows of known noise were fitted; fit all rows again to add others.")
        training = self.training.append_rows(rows, Y)
        observed = training.standardise_targets(self.targets.center, self.targets.scale)
        if isinstance(self.posterior, SeparateOutputs):
            outputs = (observed.select_output(k) for k in range(len(self.posterior.parts)))
            parts = map(_extend, self.posterior.parts, self.learned_noise, outputs)
            posterior: Any = SeparateOutputs(tuple(parts))
        else:
            posterior = _extend(self.posterior, self.learned_noise, observed)
        return NormalFit.describe(
            self.kernel,
            posterior,
            self.learned_noise,
            targets=self.targets,
            training=training,
            X_train=training.rows,
            search=self.search,
            asked=self.asked,
            single_output=self.single_output,
        )

    def predict_dist(
        self, rows: Any, noise_variance: ArrayLike | None = None, exposure: Any = None
    ) -> distributions.Normal | distributions.Mixture:
        """The targets at each row, with noise of this variance; None: that of the fit."""
        exposed.require_counts(None, exposure)
        parts, weights = split_mixture(self.posterior)
        return self._mix([self._moments(part, rows, noise_variance) for part in parts], weights)

    def predict_latent(self, rows: Any) -> distributions.Normal | distributions.Mixture:
        """The noise-free function at each row."""
        return self.predict_dist(rows, 0.0)

    def predict_joint(
        self, rows: Any, noise_variance: ArrayLike | None = None
    ) -> distributions.MultivariateNormal:
        """The targets of all rows together."""
        f, scale2 = self.posterior.joint(rows), self.targets.scale**2
        mean = arrays.to_numpy(self._unscale(f.mean))
        C = arrays.to_numpy(f.covariance) * scale2[:, None, None]
        i = np.arange(len(mean))
        C[:, i, i] += self._average_noise(noise_variance, len(mean)).T
        if self.single_output:
            return distributions.MultivariateNormal(mean[:, 0], C[0])
        return distributions.MultivariateNormal(mean, C)

    def predict_mean(self, rows: Any) -> DeviceArray:
        """The mean at each row, where the rows lie."""
        return self._shape(self._unscale(self.posterior.mean(rows)))

    def predict_mean_and_std(self, rows: Any) -> tuple[DeviceArray, DeviceArray]:
        """Mean and standard deviation of the target at each row, where the rows lie."""
        f = self.posterior.latent(rows)
        noise = arrays.like(f.mean, self._average_noise(None, f.mean.shape[0]))
        variance = f.variance * arrays.like(f.mean, self.targets.scale**2) + noise
        return self._shape(self._unscale(f.mean)), self._shape(namespace(f.mean).sqrt(variance))

    def leave_one_out(self) -> distributions.Normal | distributions.Mixture:
        """Each training target given all other rows."""
        assert self.training is not None  # a process that answers this has its rows
        places, scale2 = self.training.places, self.targets.scale**2
        parts, weights = split_mixture(self.posterior)
        each = [part.leave_one_out() for part in parts]
        moments = [(self._unscale(f.mean), f.variance * arrays.like(f.mean, scale2)) for f in each]
        return self._mix([(mean[places], variance[places]) for mean, variance in moments], weights)

    def sample_functions(self, rows: Any, n_samples: int, rng: np.random.Generator) -> Array:
        """Draw noise-free functions at the rows, (n_samples, n) or (n_samples, n, K)."""
        parts, weights = split_mixture(self.posterior)
        if len(parts) == 1:
            return self.predict_joint(rows, 0.0).sample(n_samples, rng=rng)
        joints = [part.joint(rows) for part in parts]
        of_outputs = np.broadcast_to(weights, (len(self.targets.scale), len(parts)))
        drawn = [_draw_functions(joints, k, w, n_samples, rng) for k, w in enumerate(of_outputs)]
        values = self._unscale(np.stack(drawn, axis=-1))
        return values[..., 0] if self.single_output else values

    @property
    def target_shape(self) -> tuple[int, ...]:
        """Shape of the target of one row: () or (K,)."""
        return np.shape(self.noise_variance)

    def _moments(
        self, part: Any, rows: Any, noise_variance: ArrayLike | None
    ) -> tuple[DeviceArray, DeviceArray]:
        """Mean and variance of the targets, each (n, K), by one part of the posterior."""
        f = part.latent(rows)
        scale2 = arrays.like(f.mean, self.targets.scale**2)
        noise = make_query_noise(self._noise_of(part), noise_variance, f.mean.shape[0])
        return self._unscale(f.mean), f.variance * scale2 + arrays.like(f.mean, noise)

    def _noise_of(self, part: Any) -> Any:
        """Noise variance of one part of the posterior, in the units of the targets."""
        whole: Any = self.posterior
        if part is whole:
            return self.noise_variance
        return self.noise_variance * (part.noise_variance / whole.noise_variance)

    def _average_noise(self, noise_variance: ArrayLike | None, n: int) -> Array:
        """Noise variances at n queries, (n, K), averaged over the parts of the posterior."""
        parts, weights = split_mixture(self.posterior)
        each = np.stack([np.atleast_1d(self._noise_of(part)) for part in parts], axis=-1)
        return make_query_noise(np.sum(weights * each, axis=-1), noise_variance, n)

    def _unscale(self, mean: DeviceArray) -> DeviceArray:
        """Means (n, K) in the units of the targets."""
        t = self.targets
        return mean * arrays.like(mean, t.scale) + arrays.like(mean, t.center)

    def _mix(
        self, moments: list[tuple[DeviceArray, DeviceArray]], weights: Array
    ) -> distributions.Normal | distributions.Mixture:
        """The normals of the parts of the posterior, with these weights; one is itself."""
        each = [[self._shape(arrays.to_numpy(a)) for a in pair] for pair in moments]
        if len(each) == 1:
            return distributions.Normal(each[0][0], np.sqrt(each[0][1]))
        mean, variance = (np.stack(values, axis=-1) for values in zip(*each, strict=True))
        with np.errstate(divide="ignore"):  # an output may have fewer parts than another
            log_weights = np.log(weights)
        return distributions.Mixture(distributions.Normal(mean, np.sqrt(variance)), log_weights)

    def _shape(self, values: Any) -> Any:
        """(n, K), or (n,) where the target was one-dimensional."""
        return values[:, 0] if self.single_output else values


def _check_gap(posterior: InducingPosterior | SeparateOutputs, n_targets: float) -> None:
    """Warn where inducing points leave so much of the function that the noise cannot stand for it.

    The gap is about half the variance left at each target, in units of the noise.
    """
    if posterior.gap > _MOST_GAP * n_targets:
        callers.warn_caller(
            "The inducing points leave more of the function than the noise accounts for: the log "
            f"evidence of the exact process may lie {posterior.gap:.3g} above its lower bound, "
            f"{posterior.gap / n_targets:.2g} for each target, and predictions may be too sure. "
            "Use more inducing_points, and let noise_variance be learned or make it larger; after "
            "partial_fit, fit all rows again.",
        )


def _draw_functions(
    joints: Sequence[LatentJoint], k: int, weights: Array, n_samples: int, rng: np.random.Generator
) -> Array:
    """Draws (n_samples, n) of function k from a mixture of normals over rows."""
    counts = rng.multinomial(n_samples, weights)
    drawn = [
        distributions.MultivariateNormal(
            arrays.to_numpy(f.mean[:, k]), linalg.symmetrize(arrays.to_numpy(f.covariance[k]))
        ).sample(int(count), rng=rng)
        for f, count in zip(joints, counts, strict=True)
    ]
    return rng.permutation(np.concatenate(drawn))


def condition_process(
    kernel: kernels.Kernel, noise: float, observed: ObservedRows, points: Any
) -> ProcessPosterior | InducingPosterior:
    """The posterior of rows, through inducing points where there are some."""
    if points is not None:
        return condition_on_points(kernel, noise, observed, points)
    assert isinstance(observed, HeldRows)  # others were refused
    X, y = observed.X, observed.observations
    if noise == 0.0:
        return ProcessPosterior.interpolate(kernel, X, y, JITTER)
    return ProcessPosterior.condition(kernel, noise, X, y)


def _extend(posterior: Any, noise: float, observed: HeldRows) -> Any:
    """Condition on further rows; on all where points sum them up, or they may need jitter."""
    if isinstance(posterior, PosteriorMixture):
        return posterior.condition_parts(lambda part: _extend(part, noise, observed))
    if isinstance(posterior, InducingPosterior):
        return condition_process(posterior.kernel, noise, observed, posterior.Z)
    if noise == 0.0:
        return condition_process(posterior.kernel, noise, observed, None)
    return posterior.condition_further(observed.X, observed.observations)
