"""What a fit of a Gaussian process under normal noise leaves, and its predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posterity import arrays, distributions, kernels, validation
from posterity.arrays import Array, DeviceArray, namespace
from posterity.inference.process import (
    HeldRows,
    InducingPosterior,
    ObservedRows,
    ProcessPosterior,
    SeparateOutputs,
    condition_on_points,
)
from posterity.models.column_moments import ColumnMoments
from posterity.models.partitioned_training import PartitionedTraining
from posterity.models.search_report import SearchReport
from posterity.models.training import Training, make_query_noise

JITTER = 1e-10  # of the mean prior variance, where there is no noise: a millionth of values
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class TargetScale:
    """What is subtracted from targets and what divides them before the process sees them."""

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

    kernel: Any  # of all outputs, or a tuple of one for each
    posterior: Any  # in the units that the process sees
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
        """With what follows from the posterior, in the units of the targets."""
        scale2, known = targets.scale**2, training.mean_known_noise
        noise = learned_noise * scale2 if known is None else np.full_like(scale2, known)
        jitter = (0.0 if np.any(learned_noise) else posterior.noise_variance) * scale2
        parts = getattr(posterior, "parts", (posterior,))
        points = [part.Z for part in parts if isinstance(part, InducingPosterior)]
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
        self, rows: Any, noise_variance: ArrayLike | None = None
    ) -> distributions.Normal:
        """The targets at each row, with noise of this variance; None: that of the fit."""
        mean, variance = self._moments(rows, noise_variance)
        return self._make_normal(arrays.to_numpy(mean), np.sqrt(arrays.to_numpy(variance)))

    def predict_latent(self, rows: Any) -> distributions.Normal:
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
        C[:, i, i] += make_query_noise(self.noise_variance, noise_variance, len(mean)).T
        if self.single_output:
            return distributions.MultivariateNormal(mean[:, 0], C[0])
        return distributions.MultivariateNormal(mean, C)

    def predict_mean(self, rows: Any) -> DeviceArray:
        """The mean at each row, where the rows lie."""
        return self._shape(self._unscale(self.posterior.mean(rows)))

    def predict_mean_and_std(self, rows: Any) -> tuple[DeviceArray, DeviceArray]:
        """Mean and standard deviation of the target at each row, where the rows lie."""
        mean, variance = self._moments(rows, None)
        return self._shape(mean), self._shape(namespace(variance).sqrt(variance))

    def leave_one_out(self) -> distributions.Normal:
        """Each training target given all other rows."""
        f = self.posterior.leave_one_out()
        assert self.training is not None  # a process that answers this has its rows
        places = self.training.places
        mean, variance = arrays.to_numpy(f.mean)[places], arrays.to_numpy(f.variance)[places]
        return self._make_normal(self._unscale(mean), np.sqrt(variance) * self.targets.scale)

    @property
    def target_shape(self) -> tuple[int, ...]:
        """Shape of the target of one row: () or (K,)."""
        return np.shape(self.noise_variance)

    def _moments(
        self, rows: Any, noise_variance: ArrayLike | None
    ) -> tuple[DeviceArray, DeviceArray]:
        """Mean and variance of the targets, each (n, K), where the process lives."""
        f = self.posterior.latent(rows)
        scale2 = arrays.like(f.mean, self.targets.scale**2)
        noise = make_query_noise(self.noise_variance, noise_variance, f.mean.shape[0])
        return self._unscale(f.mean), f.variance * scale2 + arrays.like(f.mean, noise)

    def _unscale(self, mean: DeviceArray) -> DeviceArray:
        """Means (n, K) in the units of the targets."""
        t = self.targets
        return mean * arrays.like(mean, t.scale) + arrays.like(mean, t.center)

    def _make_normal(self, mean: Array, std: Array) -> distributions.Normal:
        return distributions.Normal(self._shape(mean), self._shape(std))

    def _shape(self, values: Any) -> Any:
        """(n, K), or (n,) where the target was one-dimensional."""
        return values[:, 0] if self.single_output else values


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
    """With further rows; all again where points sum them up, or where they may need jitter."""
    if isinstance(posterior, InducingPosterior):
        return condition_process(posterior.kernel, noise, observed, posterior.Z)
    if noise == 0.0:
        return condition_process(posterior.kernel, noise, observed, None)
    return posterior.condition_further(observed.X, observed.observations)
