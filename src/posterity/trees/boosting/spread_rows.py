"""Rows that members of boosted numbers left out: what they tell of spreads and of members."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from posterity import distributions, likelihoods, optimize
from posterity.arrays import Array
from posterity.inference import minima
from posterity.trees.boosting.objectives import spread_parameters

LEAST_POWER = 0.2  # of the spread in the variance of a location
_PRIOR_PRECISION = 1.0  # of the logs of calibrated parameters
_LEAST_GAIN = 1e-7
_MOST_SHIFT = 3.0
_STEPS = 50
_COVERAGE, _MOST_FIT, _HALVINGS = 0.9, 0.5, 12  # of intervals that rows left out are to lie in
_MOST_OPEN = 0.3  # of the noise, what is said to be open of the location by one member
_PRIOR_ROWS, _USUAL_LOSS = 10.0, 0.1  # what is lost between one member and many, before rows speak


@dataclass(frozen=True, eq=False)
class SpreadRows:
    """Rows with two locations, and the log of their first parameter, (m,)."""

    y: Array
    a: Array
    second: Array  # NaN where there is none
    weights: Array
    eta: Array
    groups: NDArray[np.int32]

    def move(self, shift: float) -> SpreadRows:
        """The same with other spreads."""
        return replace(self, eta=self.eta + shift)

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

    def widen_for_groups(self, likelihood: likelihoods.Likelihood) -> float:
        """The shift of spreads that are known from few groups only, as of a normal with few rows.

        Errors of a group are alike. How many independent rows tell as much of the spread follows
        from sums over groups of how far out in their distributions rows lie.
        """
        n_groups = len(np.unique(self.groups))
        start = spread_parameters(likelihood, self.eta).predict(self.a, 0.0)
        power = self.find_power(likelihood)
        is_spread = isinstance(start, distributions.Continuous) and abs(power) >= LEAST_POWER
        if n_groups == len(self.y) or n_groups < 2 or not is_spread:
            return 0.0
        w, out = self.weights, np.abs(start.cdf(self.y) - 0.5)
        out = w * (out - np.average(out, weights=w))
        alike = np.sum(np.bincount(self.groups, out) ** 2) / np.sum(out**2)
        n_rows = np.sum(w) ** 2 / np.sum(w**2)
        known = np.clip(n_rows / alike, n_groups, max(n_rows, n_groups)) - 1.0
        level = 0.5 + 0.5 * _COVERAGE
        return 2.0 * float(np.log(stats.t.ppf(level, known) / stats.norm.ppf(level))) / power

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
        if abs(power) >= LEAST_POWER:
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
