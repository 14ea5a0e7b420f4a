"""The noise of boosted numbers, learned from rows that members have left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import distributions, likelihoods, optimize, page_forms, validation
from posterity.arrays import Array
from posterity.inference import minima
from posterity.likelihoods import exposed_counts
from posterity.page_forms import Form
from posterity.trees.boosting.objectives import Constants, SpreadTargets, spread_parameters

_PRIOR_PRECISION = 1.0  # of the logs of calibrated parameters
_LEAST_GAIN = 1e-7
_MOST_SHIFT = 3.0
_STEPS = 50
_COVERAGE, _MOST_FIT, _HALVINGS = 0.9, 0.5, 12  # of intervals that rows left out are to lie in
_LEAST_POWER = 0.2  # of the spread in the variance of a location
_LEAST_NOISE = 0.1  # of that about single members
_MOST_OPEN = 0.3  # of the noise, what is said to be open of the location by one member
_PRIOR_ROWS, _USUAL_LOSS = 10.0, 0.1  # what is lost between one member and many, before rows speak


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
        self, eta: Array | None, second: Array, open_variance: float, n_members: int
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
        """
        rows = self._choose_rows(eta, second)
        own, shift = self.targets.likelihood, 0.0
        if np.any(self.bounds[:, 0] < self.bounds[:, 1]):
            own, shift = rows.maximise(own, self.bounds, self.has_spread)
        if self.has_spread:
            fit = rows.move(shift).fit_coverage(own)
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
        kept = max(1.0 - lost, _LEAST_NOISE) if abs(power) >= _LEAST_POWER else 1.0
        if kept < 1.0:
            fewer = float(np.log(kept)) / power
            own, shift = _shift_first(own, fewer), shift + fewer
        noise = Noise(own, shift, share * lost / kept * per_open)
        return CalibratedNoise(noise, single, -0.5 * float(np.log(1.0 - lost * (1.0 - share))))

    def _choose_rows(self, eta: Array | None, second: Array) -> _SpreadRows:
        """The rows that have a spread by trees; all that were left out where it is constant."""
        full = np.full(len(self.weights), self.targets.centre) if eta is None else eta
        places = np.flatnonzero((self.weights > 0.0) & np.isfinite(full))
        y, a = self.targets.y[places], self.targets.a[places]
        return _SpreadRows(y, a, second[places], self.weights[places], full[places])


def _shift_first(likelihood: likelihoods.Likelihood, shift: float) -> likelihoods.Likelihood:
    """The likelihood with another log of its first parameter."""
    theta = likelihood.theta
    return likelihood.with_parameters(np.append(theta[:1] + shift, theta[1:]))


@dataclass(frozen=True, eq=False)
class _SpreadRows:
    """Rows with two locations, and the log of their first parameter, (m,)."""

    y: Array
    a: Array
    second: Array  # NaN where there is none
    weights: Array
    eta: Array

    def move(self, shift: float) -> _SpreadRows:
        """The same with other spreads."""
        return _SpreadRows(self.y, self.a, self.second, self.weights, self.eta + shift)

    def maximise(
        self, likelihood: likelihoods.Likelihood, bounds: Array, has_spread: bool
    ) -> tuple[likelihoods.Likelihood, float]:
        """Shift all spreads, and set other parameters, by the log score under a weak prior."""
        theta = likelihood.theta
        begin = np.append(0.0, theta[1:])
        limits = np.vstack([np.array([-1.0, 1.0]) * (_MOST_SHIFT * has_spread), bounds[1:]])

        def loss(x: Array) -> tuple[float, Array]:
            moved = likelihood.with_parameters(np.append(theta[:1], x[1:]))
            moved = spread_parameters(moved, self.eta + x[0])
            away, total = x - begin, float(np.sum(self.weights))
            value = float(self.weights @ moved.log_prob(self.y, self.a))
            slope = moved.score(self.y, self.a)[1:] @ self.weights - _PRIOR_PRECISION * away
            return -(value - 0.5 * _PRIOR_PRECISION * float(away @ away)) / total, -slope / total

        pairs = [(float(low), float(high)) for low, high in limits]
        end = optimize.minimise_lbfgs(
            loss, begin, bounds=pairs, least_gain=_LEAST_GAIN, announce=False
        )
        end = minima.settle_minimum(loss, end, pairs)
        return likelihood.with_parameters(np.append(theta[:1] + end.x[0], end.x[1:])), float(
            end.x[0]
        )

    def fit_coverage(self, likelihood: likelihoods.Likelihood) -> float:
        """The least shift of spreads with which 90 % intervals hold about that share of the rows.

        Tails may be lighter than those of the family. The share may differ by a hundredth, and by
        a standard error. Counts are left as they are: their intervals hold more.
        """
        start = likelihood.predict(self.a, 0.0)
        if not isinstance(start, distributions.Continuous):
            return 0.0

        def share(shift: float) -> float:
            moved = spread_parameters(likelihood, self.eta + shift).predict(self.a, 0.0)
            inside = np.abs(moved.cdf(self.y) - 0.5) < 0.5 * _COVERAGE
            return float(np.average(inside, weights=self.weights))

        error = np.sqrt(_COVERAGE * (1.0 - _COVERAGE) / np.sum(self.weights))
        allowed = 0.01 + float(error)
        low, high = _COVERAGE - allowed, _COVERAGE + allowed
        reached = share(0.0)
        if low <= reached <= high:
            return 0.0
        wanted = high if reached > high else low
        widens = np.sign(share(_MOST_FIT) - share(-_MOST_FIT))
        inner, outer = 0.0, float(widens * np.sign(wanted - reached)) * _MOST_FIT
        for _ in range(_HALVINGS):
            middle = 0.5 * (inner + outer)
            if (share(middle) - wanted) * (reached - wanted) > 0.0:
                inner = middle
            else:
                outer = middle
        return outer

    def measure_excess(self, likelihood: likelihoods.Likelihood, n_members: int) -> float:
        """Scatter about the mean of members beyond that of the likelihood, in units of the latter.

        Half of what the mean of two members has less than one is the members' own; of this, one
        part in their number remains.
        """

        def excess(a: Array, rows: NDArray[np.bool_]) -> float:
            y, w = self.y[rows], self.weights[rows]
            squares = likelihood.d1(y, a[rows]) ** 2 / likelihood.information(a[rows])[0]
            return float(np.average(squares, weights=w)) - 1.0

        every, both = np.full(len(self.a), True), np.isfinite(self.second)
        one, members = excess(self.a, every), 0.0
        if both.any():
            members = 2.0 * (excess(self.a, both) - excess(0.5 * (self.a + self.second), both))
            members = float(np.clip(members, 0.0, max(one, 0.0)))
            one -= members * (1.0 - 1.0 / n_members)
        return max(one, 0.0)

    def measure_loss(self, likelihood: likelihoods.Likelihood, open_variance: float) -> float:
        """Part of the noise about a single member that is due to the member.

        Where two members have left out a row, the noise about their mean is smaller than that about
        one of them, by half of this. Without such rows it is what leaf values leave open.
        """
        both = np.isfinite(self.second)
        power = self.find_power(likelihood) if len(likelihood.names) else 0.0
        if not both.any():
            return min(_MOST_OPEN, open_variance * self._average_information(likelihood))
        n = float(np.count_nonzero(both))
        if abs(power) >= _LEAST_POWER:
            means = self.a[both], 0.5 * (self.a + self.second)[both]
            one, two = (self._find_shift(likelihood, both, at) for at in means)
            found = 2.0 * (1.0 - float(np.clip(np.exp(power * (two - one)), 0.5, 1.0)))
        else:
            found = 0.5 * float(np.mean((self.a - self.second)[both] ** 2))
            found = min(found * self._average_information(likelihood), 1.0)
        return (n * found + _PRIOR_ROWS * _USUAL_LOSS) / (n + _PRIOR_ROWS)

    def find_power(self, likelihood: likelihoods.Likelihood) -> float:
        """The power of the first parameter in the variance that one row leaves of a location."""
        logs = [
            np.log(spread_parameters(likelihood, self.eta + h).information(self.a)[0])
            for h in (0.0, 0.1)
        ]
        change = np.broadcast_to(logs[0] - logs[1], self.a.shape)
        return 10.0 * float(np.average(change, weights=self.weights))

    def _average_information(self, likelihood: likelihoods.Likelihood) -> float:
        own = spread_parameters(likelihood, self.eta) if len(likelihood.names) else likelihood
        information = np.broadcast_to(own.information(self.a)[0], self.a.shape)
        return float(np.average(information, weights=self.weights))

    def _find_shift(
        self, likelihood: likelihoods.Likelihood, rows: NDArray[np.bool_], a: Array
    ) -> float:
        """Shift of spreads with the best log score of some rows at other locations."""
        y, w, shift = self.y[rows], self.weights[rows], 0.0
        for _ in range(_STEPS):
            moved = spread_parameters(likelihood, self.eta[rows] + shift)
            curvature = float(w @ np.broadcast_to(moved.information(a)[1], a.shape))
            step = float(w @ moved.score(y, a)[1]) / max(curvature, np.finfo(np.float64).tiny)
            shift += float(np.clip(step, -1.0, 1.0))
            if abs(step) < 1e-4:
                break
        return shift
