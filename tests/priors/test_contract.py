"""What every prior promises; a new one needs a row in the table and nothing else."""

import inspect
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from scipy import stats
from support.for_each import for_each

from posterity import priors

W = np.array([-30.0, -0.3, 0.7, 100.0])
VARIANCES = np.array([0.1, 1.0, 7.0, 1e4])
TABLE = {  # the log density by SciPy where there is one
    "flat": (priors.Flat(), None),
    "normal, learned": (priors.Normal(), None),
    "normal": (priors.Normal(2.0), stats.norm(0.0, np.sqrt(2.0))),
    "normal of several variances": (priors.Normal(VARIANCES), stats.norm(0.0, np.sqrt(VARIANCES))),
    "sparse": (priors.Sparse(), None),
    "sparse of some degrees of freedom": (priors.Sparse(5.0), stats.t(5.0)),
}
every_prior = pytest.mark.parametrize(("prior", "theirs"), TABLE.values(), ids=TABLE.keys())
proper = {name: row for name, row in TABLE.items() if row[1] is not None}
every_proper_prior = pytest.mark.parametrize(("prior", "theirs"), proper.values(), ids=proper)


def concrete_subclasses(cls):
    below = [s for child in cls.__subclasses__() for s in concrete_subclasses(child)]
    return below if inspect.isabstract(cls) else [cls, *below]


def test_every_prior_has_a_row_in_the_table():
    library = {
        c for c in concrete_subclasses(priors.Prior) if c.__module__.startswith("posterity.")
    }
    assert library == {type(prior) for prior, _ in TABLE.values()}


@every_prior
def test_a_prior_is_a_value(prior, theirs):
    parameters = {f.name: getattr(prior, f.name) for f in fields(prior)}
    assert type(prior)(**parameters) == prior
    assert prior != 3
    for name in parameters:
        with pytest.raises(FrozenInstanceError):
            setattr(prior, name, 1.0)


@every_proper_prior
def test_log_prob_has_all_its_constants(prior, theirs):
    np.testing.assert_allclose(prior.log_prob(W), theirs.logpdf(W), rtol=1e-13)


@for_each("bad", [0.0, -1.0, np.nan, np.inf, [1.0, 0.0]])
def test_impossible_variances_are_refused(bad):
    with pytest.raises(ValueError, match="variance must be positive and finite"):
        priors.Normal(bad)
