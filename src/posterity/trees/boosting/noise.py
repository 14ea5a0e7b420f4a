"""The noise of boosted numbers, learned from rows that members have left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import distributions, likelihoods, page_forms, validation
from posterity.arrays import Array
from posterity.likelihoods import exposed_counts
from posterity.page_forms import Form
from posterity.trees.boosting import spread_rows
from posterity.trees.boosting.objectives import Constants, SpreadTargets, spread_parameters
from posterity.trees.boosting.spread_rows import SpreadRows

_STEPS = 50
_LEAST_NOISE = 0.1  # of that about single members


@dataclass(frozen=True, eq=False)
class Noise:
    """Scatter of targets about their locations, and uncertainty of these locations.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import likelihoods
    >>> noise = Noise(likelihoods.Normal(4.0), spread_shift=float(np.log(0.5)))
    >>> noise.predict(np.zeros(2), np.zeros(2), np.log([1.0, 8.0])).variance()
    array([0.5, 4. ])
    """

    likelihood: likelihoods.Likelihood  # where nothing is known of the spread of a row
    spread_shift: float = 0.0  # added to logs of the first parameter that trees give
    variance_factor: float = 0.0  # of what leaf values leave open, in units of the noise
    log_exposure: float = 0.0  # of the rows that told this: the noise is that of such a row

    def predict(
        self,
        a: Array,
        variances: Array,
        eta: Array | None,
        more: Array | float = 0.0,
        *,
        log_exposure: Array | float = 0.0,
    ) -> distributions.Univariate:
        """The distribution of targets at locations, what leaves leave open of them, and spreads.

        Locations may have more variance, in units of their own; counts may have an exposure.
        """
        own = self._at(eta)
        variance = self._open(own, a, variances) + more
        # Without a spread of its own, variance is learned from scatter about exp(a), the mean.
        location = a if own.names else a - 0.5 * variance
        return own.predict(location + log_exposure, variance)

    def find_variance(
        self, a: Array, variances: Array, eta: Array | None, more: Array | float = 0.0
    ) -> Array:
        """The variance of the locations themselves, (n,)."""
        return self._open(self._at(eta), a, variances) + more

    def check_consistency(self) -> None:
        """Raise ValueError unless it is a likelihood with numbers."""
        is_one = isinstance(self.likelihood, likelihoods.Likelihood)
        validation.require(is_one, "the likelihood is not one.")
        for name in ("spread_shift", "variance_factor", "log_exposure"):
            value = getattr(self, name)
            is_number = isinstance(value, float) and bool(np.isfinite(value))
            validation.require(is_number, f"{name} is not a finite number.")
        validation.require(self.variance_factor >= 0.0, "variance_factor is negative.")

    def page_form(self, has_spread: bool) -> Form:
        """Return the form from which a page predicts at sums of trees, and logs of spreads.

        ``information`` is that of the location at a first parameter of one, and changes with its
        ``power``: that of a normal falls with the variance.
        """
        page_forms.find_form(self.likelihood)  # refused where it has no form
        first = [spread_parameters(self.likelihood, np.array([log])) for log in (0.0, 1.0)]
        at_one, at_e = (float(own.information(np.zeros(1))[0][0]) for own in first)
        return {
            "answer": page_forms.find_form(self.likelihood.with_first_parameter(np.ones(()))),
            "shift": self.spread_shift if has_spread else float(self.likelihood.theta[0]),
            "variance_factor": self.variance_factor,
            "information": at_one,
            "power": float(np.log(at_e / at_one)),
        }

    def _at(self, eta: Array | None) -> likelihoods.Likelihood:
        if eta is None:
            return self.likelihood
        return spread_parameters(self.likelihood, eta + self.spread_shift)

    def _open(self, own: likelihoods.Likelihood, a: Array, variances: Array) -> Array:
        return self.variance_factor * variances / own.information(a + self.log_exposure)[0]


@dataclass(frozen=True, eq=False)
class CalibratedNoise:
    """The noise about the mean of members, and about one of them, by rows that it left out.

    Under the noise about their mean, single members would score too low: they are further from
    targets. They score under their own noise, and what the mean gains is added. A variance that
    is less by a factor gains half its log.
    """

    noise: Noise
    single: Noise
    gain: float  # nats a row

    def score(self, y: Array, a: Array, variances: Array, eta: Array | None) -> Array:
        """Log-probability of targets by means of members that left them out; NaN where none did.

        Parameters
        ----------
        y : array (N,)
            Targets.
        a, variances : array (N,)
            Locations by single members, and what leaf values leave open of them.
        eta : array (N,) or None
            Logs of the first parameter.
        """
        log_prob = np.full(len(y), np.nan)
        known = np.isfinite(a) if eta is None else np.isfinite(a) & np.isfinite(eta)
        if known.any():
            counts, log_exposure = exposed_counts.separate(y[known], 0.0)
            own = None if eta is None else eta[known]
            dist = self.single.predict(a[known], variances[known], own, log_exposure=log_exposure)
            log_prob[known] = dist.log_prob(counts) + self.gain
        return log_prob


@dataclass(frozen=True, eq=False)
class HeldOutNoise:
    """Rows that members have left out, at locations by these, and constant noise."""

    targets: SpreadTargets
    weights: Array  # (N,), zero for rows that no member left out
    bounds: Array  # (P, 2), of the logs of parameters

    @classmethod
    def start(
        cls,
        y: Array,
        a: Array,
        weights: Array,
        likelihood: likelihoods.Likelihood | None,
        constants: Constants,
    ) -> HeldOutNoise:
        """The best constant noise; None: Student's t.

        Parameters other than the first start at what is typical: their best values would be those
        of the noise about a spread that is not known yet. Locations are those of counts, not of
        rates, from here on.
        """
        out = weights > 0.0
        located = np.where(out, a, np.average(np.where(out, a, 0.0), weights=weights))
        begun: likelihoods.Likelihood
        if likelihood is None:
            r = (y - located)[out]
            begun, bounds = likelihoods.StudentT().search_start(r, weights[out])
            theta = begun.theta
        else:
            begun, bounds = likelihood.search_start(y[out], weights[out])
            theta = np.append(constants.likelihood.theta[:1], begun.theta[1:])
        held = np.where(np.arange(len(bounds))[:, None] == 0, bounds, theta[:, None])
        best = Constants(begun.with_parameters(theta), held)
        best.follow(y[out], located[out], weights[out], _STEPS)
        return cls(
            SpreadTargets(*exposed_counts.separate(y, located), best.likelihood), weights, bounds
        )

    @property
    def has_spread(self) -> bool:
        """Whether there is a first parameter, and it is to be learned."""
        return len(self.bounds) > 0 and bool(self.bounds[0, 0] < self.bounds[0, 1])

    def calibrate(
        self,
        eta: Array | None,
        second: Array,
        open_variance: float,
        n_members: int,
        groups: NDArray[np.int32],
    ) -> CalibratedNoise:
        """The noise about the mean of members, and about one of them.

        Parameters
        ----------
        eta : array (N,) or None
            Logs of the first parameter by trees that have not seen the row.
        second : array (N,)
            Locations of the counts by a second member that has left the row out, or NaN.
        open_variance : float
            What leaf values leave open of a location, in the mean of these rows.
        n_members : int
            How many members are averaged.
        groups : array (N,)
            From 0 on: errors of rows of one may be alike.
        """
        rows = self._choose_rows(eta, second, groups)
        own, shift = self.targets.likelihood, 0.0
        if np.any(self.bounds[:, 0] < self.bounds[:, 1]):
            own, shift = rows.maximise(own, self.bounds, self.has_spread)
        if self.has_spread:
            moved = rows.move(shift)
            fit = moved.fit_coverage(own)
            fit += moved.move(fit).widen_for_groups(_shift_first(own, fit))
            own, shift = _shift_first(own, fit), shift + fit
        rows = rows.move(shift)
        per_open = 1.0 / open_variance if open_variance > 0.0 else 0.0
        if not own.names:
            one, mean = (rows.measure_excess(own, n) for n in (1, n_members))
            gain = 0.5 * float(np.log((1.0 + one) / (1.0 + mean)))
            about_mean, about_one = (Noise(own, shift, x * per_open) for x in (mean, one))
            return CalibratedNoise(about_mean, about_one, gain)
        lost, single = rows.measure_loss(own, open_variance), Noise(own, shift)
        share = 1.0 / n_members if np.isfinite(rows.second).any() else 1.0
        power = rows.find_power(own) if self.has_spread else 0.0
        kept = max(1.0 - lost, _LEAST_NOISE) if abs(power) >= spread_rows.LEAST_POWER else 1.0
        if kept < 1.0:
            fewer = float(np.log(kept)) / power
            own, shift = _shift_first(own, fewer), shift + fewer
        noise = Noise(own, shift, share * lost / kept * per_open)
        return CalibratedNoise(noise, single, -0.5 * float(np.log(1.0 - lost * (1.0 - share))))

    def _choose_rows(
        self, eta: Array | None, second: Array, groups: NDArray[np.int32]
    ) -> SpreadRows:
        """The rows that have a spread by trees; all that were left out where it is constant."""
        full = np.full(len(self.weights), self.targets.centre) if eta is None else eta
        places = np.flatnonzero((self.weights > 0.0) & np.isfinite(full))
        y, a = self.targets.y[places], self.targets.a[places]
        return SpreadRows(y, a, second[places], self.weights[places], full[places], groups[places])


def _shift_first(likelihood: likelihoods.Likelihood, shift: float) -> likelihoods.Likelihood:
    """The likelihood with another log of its first parameter."""
    theta = likelihood.theta
    return likelihood.with_parameters(np.append(theta[:1] + shift, theta[1:]))
