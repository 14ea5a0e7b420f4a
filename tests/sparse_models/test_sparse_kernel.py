"""Kernels of sparse models: what the search for their parameters may and may not do."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from sparse_support import latent_engine, normal_engine
from support.for_each import for_each
from support.latents import with_covariance

from posterity import kernels, likelihoods
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import kernel_search as sparse_kernel
from posterity.sparse.problem import COST, Chosen


def rows_for(n=30, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.uniform(0.5, 2.0, n), rng


def bernoulli_engine(X, y):
    targets = RowTargets.from_observations(y, None, likelihoods.Bernoulli(), offset=True)
    return latent_engine(X, targets, np.random.default_rng(0))


@dataclass(frozen=True)
class Wells:
    """An engine whose evidence is a given function of the kernel, and remembers what it fitted."""

    rows: np.ndarray
    value: object  # of the kernel
    n_vectors: object = lambda kernel: 2
    climbs: bool = False
    empty: float = -1e9  # the evidence without vectors
    names: float = 0.0  # what vectors have to earn for their names
    asked: list = field(default_factory=list)

    @property
    def outputs(self):
        return self

    @property
    def total_weight(self):
        return float(len(self.rows))

    def select_rows(self, places):
        return replace(self, rows=self.rows[places])

    def select(self, kernel, start, *, coarse):
        self.asked.append((kernel, len(self.rows), coarse))
        m = self.n_vectors(kernel)
        ones = np.ones(m)
        chosen = Chosen(np.arange(m), ones, ones, ones, self.value(kernel), 1, "", True)
        return chosen, None

    def price(self, fitted):
        return self.names

    def confine(self, places):
        assert not len(places)
        return replace(self, value=lambda kernel: self.empty, n_vectors=lambda kernel: 0, asked=[])

    def climb(self, kernel, moving, fitted):
        return Slope(kernel, self.value, len(fitted[0].places)) if self.climbs else None


class Unclimbed(Wells):
    """One whose climbs would be a mistake."""

    def climb(self, kernel, moving, fitted):
        raise AssertionError("there is nothing to climb")


@dataclass(frozen=True)
class Slope:
    """The climb of such an engine, by differences; precisions do not matter to it."""

    kernel: kernels.Kernel
    value: object
    m: int

    def decode(self, x):
        return np.exp(x[: self.m]), self.kernel.with_theta(x[self.m :])

    def __call__(self, x):
        f = [self.value(self.decode(x + 1e-6 * e)[1]) for e in np.vstack([np.eye(len(x)), 0.0 * x])]
        return -f[-1], -(np.array(f[:-1]) - f[-1]) / 1e-6


def well_at(length):
    return lambda kernel: -100.0 * np.log(kernel.length_scale / length) ** 2


def learn(engine, kernel, seed=0):
    return sparse_kernel.learn_kernel(engine, kernel, rng=np.random.default_rng(seed))


@for_each("length", [0.4, 1.0, 1.5, 7.0])
def test_scan_and_steps_find_the_best_length_to_an_eighth_of_an_octave(length):
    X, _, _ = rows_for()
    found = learn(Wells(X, well_at(length)), kernels.RBF())
    assert abs(np.log2(found.kernel.length_scale / length)) <= 0.126


def test_a_vector_costs_what_is_lost_when_its_precision_is_integrated_over():
    X, _, _ = rows_for()
    found = learn(Wells(X, lambda kernel: 0.0, lambda kernel: 3), kernels.RBF(0.7).fixed())
    assert found.criterion == -3 * COST
    # A normal of variance 2, the logarithm of a precision, in eighteen decades.
    assert pytest.approx(np.log(18.0 * np.log(10.0) / np.sqrt(4.0 * np.pi)), abs=0.05) == COST


def test_evidence_that_grows_by_less_than_its_vectors_cost_does_not_narrow_the_kernel():
    X, _, _ = rows_for()

    def vectors(kernel):
        return int(10.0 / kernel.length_scale)

    greedy = Wells(X, lambda kernel: (COST - 0.1) * vectors(kernel), vectors)
    worthy = Wells(X, lambda kernel: (COST + 0.1) * vectors(kernel), vectors)
    assert learn(greedy, kernels.RBF()).kernel.length_scale > 4.0
    assert learn(worthy, kernels.RBF()).kernel.length_scale < 0.5


@for_each(
    "kernel",
    [
        kernels.RBF(0.7).fixed(),
        kernels.Scaled(kernels.RBF(0.7).fixed()),
        (kernels.RBF(0.7) + kernels.Linear(1.0)).fixed(),
    ],
    ids=str,
)
def test_a_kernel_that_is_given_is_fitted_once_as_it_is(kernel):
    X, _, _ = rows_for()
    engine = Wells(X, lambda kernel: 0.0)
    found = learn(engine, kernel)
    assert len(engine.asked) == 1
    assert found.kernel == kernel.start(X)
    assert not engine.asked[0][2]


def test_a_kernel_that_is_bounded_is_learned_within_its_bounds():
    X, _, _ = rows_for()
    kernel = kernels.RBF(0.7).bounded(length_scale=(0.5, 1.0))
    engine = Wells(X, well_at(3.0))
    assert learn(engine, kernel).kernel.length_scale == pytest.approx(1.0)
    assert all(0.5 <= asked.length_scale <= 1.0 + 1e-12 for asked, _, _ in engine.asked)


def test_the_variance_of_a_scaled_kernel_stays_one():
    X, _, _ = rows_for()
    engine = Wells(X, lambda kernel: well_at(0.8)(kernel.kernel))
    found = learn(engine, kernels.Scaled(kernels.RBF()))
    assert found.kernel.variance == 1.0
    assert abs(np.log2(found.kernel.kernel.length_scale / 0.8)) <= 0.126


def test_of_equal_lengths_the_start_is_kept():
    X, _, _ = rows_for()
    found = learn(Wells(X, lambda kernel: 0.0, lambda kernel: 0), kernels.RBF())
    assert found.kernel.length_scale == pytest.approx(kernels.RBF().start(X).length_scale)


def test_the_scan_sees_a_thousand_rows_and_the_last_fit_all():
    X = np.random.default_rng(0).normal(size=(6000, 1))
    engine = Wells(X, well_at(1.0))
    learn(engine, kernels.RBF())
    sizes = [(n, coarse) for _, n, coarse in engine.asked]
    assert set(sizes) == {(1000, True), (5000, False), (6000, False)}
    assert sizes[-1] == (6000, False)


def relevance_data(length, seed=0, n=120):
    """A function of four of the candidate columns of a known kernel, with little noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, (n, 1))
    near = np.abs(X - np.array([-2.0, -0.7, 0.6, 2.1])).argmin(axis=0)
    f = kernels.RBF(length)(X, X[near]) @ np.array([1.0, -1.5, 1.5, -1.0])
    return X, f + 0.03 * rng.normal(size=n)


@for_each("length", [0.35, 0.8])
def test_a_known_width_is_found_within_a_factor_of_two(length):
    found = learn(normal_engine(*relevance_data(length)), kernels.RBF())
    assert 0.5 < found.kernel.length_scale / length < 2.0


def test_columns_that_do_not_matter_have_long_lengths():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(100, 3))
    y = np.sin(3.0 * X[:, 0]) + 0.1 * rng.normal(size=100)
    found = learn(normal_engine(X, y), kernels.RBF(ard=True))
    lengths = np.array(found.kernel.length_scale)
    assert np.all(lengths[1:] > 2.0 * lengths[0])  # columns that do not matter


@for_each("factor", [1e-6, 1e5])
def test_units_of_the_inputs_and_targets_change_nothing(factor):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.5 * rng.normal(size=80)
    base = learn(normal_engine(X, y), kernels.RBF())
    other = learn(normal_engine(factor * X, 10.0 * y), kernels.RBF())
    assert other.kernel.length_scale == pytest.approx(factor * base.kernel.length_scale, rel=1e-9)
    assert other.criterion == pytest.approx(base.criterion - 79.0 * np.log(10.0), abs=1e-4)
    np.testing.assert_array_equal(np.sort(other.chosen.places), np.sort(base.chosen.places))


def test_two_classes_are_told_apart_by_a_kernel_of_the_right_width():
    rng = np.random.default_rng(3)
    X = rng.uniform(-3.0, 3.0, (150, 1))
    p = 1.0 / (1.0 + np.exp(-6.0 * np.sin(2.0 * X[:, 0])))
    y = (rng.uniform(size=150) < p).astype(float)
    found = learn(bernoulli_engine(X, y), kernels.RBF())
    mean, _ = with_covariance(found.fit.latent(found.fit.problem.design.rows(0, 150)))
    assert 0.2 < found.kernel.length_scale < 2.0
    assert np.mean((mean[:, 0] > 0.0) == (p > 0.5)) > 0.9
    assert found.criterion == pytest.approx(found.chosen.value - COST * len(found.chosen.places))


def test_nothing_to_see_keeps_no_vector():
    rng = np.random.default_rng(5)
    found = learn(normal_engine(rng.normal(size=(60, 2)), rng.normal(size=60)), kernels.RBF())
    assert not len(found.chosen.places)
    assert "no vectors raise the evidence" in found.chosen.stop_reason


def test_vectors_that_gain_less_than_they_cost_are_not_kept():
    X, _, _ = rows_for()
    cost = 2 * COST
    worthy = learn(Wells(X, lambda kernel: cost + 0.1, empty=0.0), kernels.RBF(0.7).fixed())
    assert (len(worthy.chosen.places), worthy.criterion) == (2, pytest.approx(0.1))
    dear = learn(Wells(X, lambda kernel: cost - 0.1, empty=0.0), kernels.RBF(0.7).fixed())
    assert (len(dear.chosen.places), dear.criterion) == (0, 0.0)


def test_rows_that_share_nothing_are_noise():
    rng = np.random.default_rng(0)
    X, y = 1e3 * rng.normal(size=(80, 2)), rng.normal(size=80)
    found = learn(normal_engine(X, y), kernels.RBF(0.1).fixed())
    assert not len(found.chosen.places)


@for_each(("gain", "kept"), [(9.9, 0), (10.1, 9)])
def test_vectors_that_are_beyond_doubt_together_are_kept_whatever_they_cost(gain, kept):
    X, _, _ = rows_for()
    many = Wells(X, lambda kernel: gain, lambda kernel: 9, empty=0.0)
    assert len(learn(many, kernels.RBF(0.7).fixed()).chosen.places) == kept


def test_a_parameter_that_is_set_is_where_the_search_starts():
    X, _, _ = rows_for()
    found = learn(Wells(X, well_at(1.0)), kernels.RBF(2.0))
    assert found.kernel.length_scale == pytest.approx(1.0, rel=0.2)


@pytest.mark.full
@for_each("own", [False, True])
def test_three_classes_in_rings_need_a_kernel_of_the_right_width(own):
    rng = np.random.default_rng(6)
    X = rng.uniform(-2.0, 2.0, (90, 1))
    y = np.digitize(np.abs(X[:, 0]), [0.7, 1.4]).astype(float)
    targets = RowTargets.from_observations(y, None, likelihoods.Categorical(3), offset=True)
    found = learn(latent_engine(X, targets, rng, own=own), kernels.RBF())
    used = int(np.sum(np.isfinite(found.chosen.precision)))
    assert found.criterion == pytest.approx(found.chosen.value - COST * used)
    assert 0.1 < found.kernel.length_scale < 3.0
    assert found.chosen.value > targets.n_rows * np.log(1.0 / 3.0) + 20.0


def test_the_likelihood_is_learned_with_the_kernel():
    rng = np.random.default_rng(7)
    X = rng.uniform(-3.0, 3.0, (100, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_t(4.0, size=100)
    likelihood, bounds = likelihoods.StudentT(degrees_of_freedom=4.0).search_start(y, np.ones(100))
    targets = RowTargets.from_observations(y, None, likelihood, offset=True)
    engine = latent_engine(X, targets, np.random.default_rng(0), bounds=bounds)
    found = learn(engine, kernels.RBF(0.8).fixed())
    assert 0.05 < found.fit.problem.targets.likelihood.scale < 0.2


@for_each(("gain", "is_worth_it"), [(2.3, False), (2.7, True)])
def test_a_length_that_leaves_the_others_must_gain_what_a_vector_costs(gain, is_worth_it):
    X, _, _ = rows_for()
    X /= np.std(X, axis=0)  # so that both lengths start alike

    def value(kernel):
        a, b = np.log(kernel.length_scale)
        return -50.0 * (a + b) ** 2 - gain * (a - b - 1.0) ** 2

    found = learn(Wells(X, value, climbs=True), kernels.RBF(ard=True))
    a, b = np.log(found.kernel.length_scale)
    assert (abs(a - b) > 0.5) == is_worth_it
    if is_worth_it:
        assert a - b == pytest.approx(1.0, abs=0.1)
        assert found.criterion == pytest.approx(-3.0 * COST, abs=0.1)


def test_one_length_alone_is_not_climbed():
    X, _, _ = rows_for()
    assert learn(Unclimbed(X, well_at(1.0)), kernels.RBF()).kernel.length_scale > 0.0


def test_a_parameter_that_is_no_length_climbs_without_a_charge():
    X, _, _ = rows_for()

    def value(kernel):
        return well_at(1.0)(kernel) - 0.5 * np.log(kernel.shape / 3.0) ** 2

    found = learn(Wells(X, value, climbs=True), kernels.RationalQuadratic())
    assert found.kernel.shape == pytest.approx(3.0, rel=0.2)


def test_of_kernels_about_as_good_the_one_of_the_fewest_vectors_is_taken():
    X, _, _ = rows_for()
    best, almost = 1.0, 2.0

    def near(kernel, length):
        return abs(np.log(kernel.length_scale / length)) < 0.1

    def vectors(kernel):
        return 2 if near(kernel, almost) else 4

    def value(kernel):
        if near(kernel, best) or near(kernel, almost):
            return COST * vectors(kernel) - (0.5 if near(kernel, almost) else 0.0)
        return -50.0

    start = kernels.RBF(best).bounded(length_scale=(0.1, 10.0))
    found = learn(Wells(X, value, vectors), start)
    assert found.kernel.length_scale == pytest.approx(almost, rel=0.1)


@for_each("value", [-1000.0, 1000.0], ids=["short", "earned"])
def test_where_vectors_fall_far_short_no_other_width_is_tried(value):
    """A fit in which nearly every row is a vector takes as long at every width."""
    engine = Wells(np.zeros((30, 1)), lambda kernel: value, lambda kernel: 300, empty=0.0)
    learn(engine, kernels.RBF(1.0))
    walked = [kernel for kernel, _, coarse in engine.asked if not coarse]
    assert (len(walked) == 1) == (value < 0.0)
