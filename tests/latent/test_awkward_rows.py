"""Rows that nobody should pass, and somebody will: numbers come out, or a sentence."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from latent_cases import CASES, answers, data, every_gplvm, every_model, named
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from support.for_each import for_each

from posterity import GPLVM, HierarchicalGPLVM, KernelKMeans, KernelPCA, kernels
from posterity.latent.fitted import OutputFrame

pytestmark = pytest.mark.filterwarnings("ignore::posterity.optimize.ConvergenceWarning")


@every_model
@for_each(
    ("bad", "words"),
    [
        (np.where(np.arange(4) == 2, np.inf, data()), r"infinity: column 2 \(row 0\)"),
        (data()[:0], "0 sample"),
        (data()[:, :0], "0 feature"),
        (data()[0], "2D array"),
        (data()[None], "dim 3"),
        ([["a", "b"]] * 5, "holds the text 'a'"),
        (pd.DataFrame(), "data frame without columns"),
        (np.ma.masked_array(data(), data() > 2.0), "masked"),
        (data() * 1j, "Complex"),
    ],
    ids=["inf", "no rows", "no columns", "1-D", "3-D", "text", "empty frame", "masked", "complex"],
)
def test_rows_that_cannot_be_used_are_refused_in_words(model, bad, words):
    with pytest.raises(ValueError, match=words):
        clone(model).fit(bad)


@every_model
def test_sparse_matrices_are_refused_in_words(model):
    with pytest.raises(TypeError, match="dense data is required"):
        clone(model).fit(scipy.sparse.csr_array(data()))


@pytest.mark.full(but=6)
@every_model
def test_questions_that_do_not_fit_are_refused_in_words(model):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        answers(clone(model), data())
    fitted = clone(model).fit(data())
    with pytest.raises(ValueError, match="X has 3 features"):
        answers(fitted, data()[:, :3])
    with pytest.raises(ValueError, match="0 sample"):
        answers(fitted, data()[:0])


@named([case for case in CASES if not get_tags(case).input_tags.allow_nan])
def test_missing_values_are_refused_where_they_are_not_understood(model):
    X = data()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN: column 1 \(row 3\)"):
        clone(model).fit(X)


DEGENERATE = {
    "few rows": data(3),
    "fewer rows than columns": np.hstack([data(4), data(4, 1) ** 2]),
    "one column": data()[:, :1],
    "equal rows": np.repeat(data(4), 4, axis=0),
    "a constant column": np.hstack([data(), np.ones((30, 1))]),
    "collinear columns": np.outer(np.arange(10.0), [1.0, 2.0, 3.0, 4.0]),
    "tiny": 1e-12 * data(),
    "huge": 1e12 * data(),
    "units apart": data() * [1e-9, 1.0, 1e6, 1e9],
    "whole numbers": (4.0 * data()).astype(int),
    "yes and no": data() > 2.0,
}


@pytest.mark.full(but=6)
@for_each("rows", DEGENERATE.values(), ids=DEGENERATE.keys())
@every_model
def test_degenerate_rows_give_numbers_and_no_warnings(model, rows):
    smaller = clone(model)
    if isinstance(model, KernelKMeans):
        smaller.set_params(n_clusters=2)
    fitted = smaller.fit(rows)
    assert np.all(np.isfinite(answers(fitted, rows)))
    if not isinstance(model, KernelKMeans):
        back = fitted.inverse_transform(fitted.transform(rows))
        assert np.all(np.isfinite(back))


@every_gplvm
def test_the_order_in_memory_changes_no_bit(model):
    X = data() / 3.0
    turned = clone(model).fit(np.asfortranarray(X)).embedding_
    np.testing.assert_array_equal(turned, clone(model).fit(X).embedding_)
    frame = OutputFrame.from_rows(X, standardize=True)
    assert frame.to_model_units(np.asfortranarray(X)).flags.c_contiguous


@every_model
def test_rows_far_from_zero_lose_nothing_or_are_refused_in_words(model):
    X = data() + 1e9
    kernel = model.get_params().get("kernel")
    if isinstance(model, KernelPCA | KernelKMeans) and isinstance(kernel, kernels.Linear):
        with pytest.raises(ValueError, match="subtract their mean first"):
            clone(model).fit(X)
    else:
        near = answers(clone(model).fit(X - 1e9), X - 1e9)
        far = answers(clone(model).fit(X), X)
        np.testing.assert_allclose(np.abs(far), np.abs(near), atol=1e-3)


@every_gplvm
def test_missing_values_are_filled_in(model):
    X = data()
    X[3, 1] = X[5, 0] = np.nan
    X[7] = np.nan
    fitted = clone(model).fit(X)
    filled = fitted.complete(X)
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(filled.mean()[seen], X[seen])
    assert np.all(np.isfinite(filled.mean()))
    assert np.all(filled.standard_deviation()[~seen] > 0.0)
    assert np.all(np.isfinite(fitted.transform(np.full((2, 4), np.nan))))


@named([case for case in CASES if isinstance(case, GPLVM)])
@for_each("n_components", [6, 20])
def test_more_dimensions_than_columns_or_rows_do_no_harm(model, n_components):
    X = data(12)
    fitted = clone(model).set_params(n_components=n_components)
    if isinstance(model.kernel, kernels.Linear):
        fitted.set_params(kernel=None)
    assert np.all(np.isfinite(fitted.fit_transform(X)))
    assert fitted.inverse_transform(fitted.embedding_).shape == X.shape


@named([case for case in CASES if isinstance(case, GPLVM)])
def test_restarts_at_the_same_time_end_where_they_do_one_by_one(model):
    one, both = (clone(model).set_params(n_restarts=2, n_jobs=n) for n in (1, 2))
    X = data()
    # Not to the last bit: sums may round by where arrays lie in memory.
    np.testing.assert_allclose(one.fit_transform(X), both.fit_transform(X), atol=1e-8)
    np.testing.assert_allclose(one.restarts_, both.restarts_, rtol=1e-8)


@for_each("cls", [GPLVM, HierarchicalGPLVM])
@for_each(
    ("options", "when", "words"),
    [
        ({"dynamics": "smooth"}, {}, "dynamics='smooth' must be a kernel over time"),
        ({}, {"times": [np.nan] * 30}, "times must be 30 finite numbers"),
        ({}, {"times": [0.0, 1.0]}, "times must be 30 finite numbers"),
        ({}, {"groups": ["a"]}, r"groups has shape \(1,\)"),
        ({}, {"groups": [0, None] * 15}, "groups has no value in row 1"),
        ({}, {"groups": [0.0, np.nan] * 15}, "groups has no value in row 1"),
    ],
)
def test_motions_that_cannot_be_are_refused_in_words(cls, options, when, words):
    model = cls(**{"dynamics": kernels.RBF(), "max_iter": 5, **options})
    with pytest.raises((ValueError, TypeError), match=words):
        model.fit(data(), **when)


@every_gplvm
def test_a_column_without_values_is_refused_in_words(model):
    X = data()
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match="Column 2 of X has no value at all"):
        clone(model).fit(X)


@named([case for case in CASES if "random_state" in case.get_params()])
def test_a_seed_may_be_a_number_a_generator_or_none(model):
    X = data()
    clone(model).set_params(random_state=None).fit(X)
    one, other = (
        answers(clone(model).set_params(random_state=np.random.default_rng(3)).fit(X), X)
        for _ in range(2)
    )
    np.testing.assert_array_equal(one, other)
