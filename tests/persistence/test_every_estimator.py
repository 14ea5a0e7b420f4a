"""Every estimator survives a file, pickle and skops, and says the same to the last bit."""

import pickle

import latent_cases
import numpy as np
import pytest
import skops.io
from persistence_cases import CASES, answers, assert_same, assert_same_answers
from regression_cases import Bump
from sklearn.base import clone
from sklearn.utils import get_tags

import posterity
from posterity import persistence

pytestmark = [
    pytest.mark.filterwarnings("ignore::posterity.optimize.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
ONCE = list({id(case.model): case for case in CASES}.values())
every_model = pytest.mark.parametrize("case", ONCE, ids=lambda case: case.name)


def through_file(model, folder):
    path = folder / "model.posterity"
    persistence.save(model, path, classes=(Bump,))
    return persistence.load(path, classes=(Bump,))


def through_pickle(model, folder):
    return pickle.loads(pickle.dumps(model))


def through_skops(model, folder):
    data = skops.io.dumps(model)
    return skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))


def is_estimator(public):
    return isinstance(public, type) and hasattr(public, "fit")


def test_every_public_estimator_is_in_the_table():
    public = {getattr(posterity, name) for name in posterity.__all__}
    assert {type(case.model) for case in CASES} == {c for c in public if is_estimator(c)}


@pytest.mark.full(but=40)
@every_case
def test_a_file_brings_all_of_a_model_back_to_the_last_bit(case, tmp_path):
    loaded = through_file(case.fitted, tmp_path)
    assert_same_answers(case.said, answers(loaded, case.queries))
    assert repr(loaded) == repr(case.fitted)
    assert_same(case.fitted, loaded)
    again = tmp_path / "again"
    persistence.save(loaded, again, classes=(Bump,))
    assert again.read_bytes() == (tmp_path / "model.posterity").read_bytes()
    assert again.stat().st_size == persistence.compute_size(case.fitted, classes=(Bump,))


@pytest.mark.full(but=40)
@every_case
def test_pickle_and_skops_bring_a_model_back_to_the_last_bit(case, tmp_path):
    for through in (through_pickle, through_skops):
        loaded = through(case.fitted, tmp_path)
        assert_same_answers(case.said, answers(loaded, case.queries))


@pytest.mark.full(but=20)
@every_model
def test_a_model_that_was_not_fitted_comes_back(case, tmp_path):
    loaded = through_file(case.model, tmp_path)
    assert_same(case.model, loaded)


@pytest.mark.full(but=20)
@every_model
def test_a_loaded_model_can_be_fitted_again(case, tmp_path):
    loaded = case.refitted(through_file(case.fitted, tmp_path))
    assert_same_answers(case.said, answers(loaded, case.queries))


@pytest.mark.full(but=6)
@pytest.mark.parametrize(
    "case",
    [case for case in ONCE if hasattr(case.model, "partial_fit")],
    ids=lambda case: case.name,
)
def test_a_loaded_model_goes_on_learning(case, tmp_path):
    first = clone(case.model)
    arguments = () if case.target is None else (case.target,)
    if get_tags(first).estimator_type == "classifier":
        first.partial_fit(case.rows, *arguments, classes=np.unique(case.target))
    else:
        first.partial_fit(case.rows, *arguments)
    loaded = through_file(first, tmp_path)
    for model in (first, loaded):
        model.partial_fit(case.rows, *arguments)
    assert_same_answers(answers(first, case.queries), answers(loaded, case.queries))


@pytest.mark.parametrize("model", [posterity.DualLinearRegression(Bump(1.0))])
def test_a_class_of_ones_own_is_refused_until_it_is_named(model, tmp_path):
    path = tmp_path / "model.posterity"
    with pytest.raises(persistence.FileError, match=r"kernel.*classes"):
        persistence.save(model, path)
    assert not path.exists()
    persistence.save(model, path, classes=(Bump,))
    with pytest.raises(persistence.FileError, match="Bump"):
        persistence.load(path)
    assert persistence.load(path, classes=(Bump,)).kernel == Bump(1.0)


@pytest.mark.parametrize("through", [through_pickle, through_skops, through_file])
def test_hashes_of_one_process_do_not_go_to_another(through, tmp_path):
    X = latent_cases.data()
    model = posterity.GPLVM(max_iter=2).fit(X)
    model.transform(X[3:6])  # looks for rows that were seen, by hashes that differ by process
    assert "_numbers" in vars(model._fitted.rows_seen)
    assert "_numbers" not in vars(through(model, tmp_path)._fitted.rows_seen)
