"""A spectrum holds what a model says of its components, and marks how many it keeps."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from sklearn.decomposition import PCA as Peer
from support.for_each import for_each

from posterity import displays
from posterity.latent.pca import PCA


class Weighed:
    explained_variance_ = np.array([4.0, 3.0, 0.5, 0.0])
    explained_variance_ratio_ = explained_variance_ / 7.5
    log_evidences_ = np.array([-30.0, -20.0, -10.0, -11.0, -12.0])


class Relevant:
    relevances_ = np.array([1.0, 0.01, 0.7])


def spectrum(model, **options):
    return displays.SpectrumDisplay.from_estimator(model, **options)


def test_spectrum_holds_the_variances_and_their_shares():
    X = np.random.default_rng(0).normal(size=(30, 5))
    model = Peer().fit(X)
    display = spectrum(model)
    np.testing.assert_array_equal(display.values, model.explained_variance_)
    assert display.share[-1] == pytest.approx(1.0)
    assert display.share[1] == pytest.approx(model.explained_variance_ratio_[:2].sum())
    assert not display.log_evidences.size


def test_the_number_of_largest_evidence_is_marked():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 6)) * 5.0 + rng.normal(size=(80, 6))
    display = spectrum(PCA().fit(X))
    assert display.n_components == 2 == PCA("evidence").fit(X).n_components_
    assert display.counts[0] == 0.0
    assert len(display.counts) == len(display.log_evidences) == 7


def test_variances_that_are_kept_have_the_colour():
    axes = spectrum(Weighed()).plot()
    (dots,) = axes.collections
    np.testing.assert_array_equal(dots.get_offsets(), [[1, 4.0], [2, 3.0], [3, 0.5]])
    blue, grey = (to_rgba(displays.COLORS[name]) for name in ("blue", "grey"))
    np.testing.assert_allclose(dots.get_facecolor(), [blue, blue, grey])
    assert axes.get_yscale() == "log"
    assert axes.get_ylabel() == "variance"


def test_share_begins_at_nothing_and_marks_what_is_kept():
    line, dot = spectrum(Weighed()).plot(show="share").lines
    np.testing.assert_allclose(line.get_xydata()[[0, -1]], [[0.0, 0.0], [4.0, 1.0]])
    np.testing.assert_allclose(dot.get_xydata(), [[2.0, 7.0 / 7.5]])


def test_evidence_is_below_the_best_which_is_marked():
    line, dot = spectrum(Weighed()).plot(show="evidence").lines
    np.testing.assert_array_equal(line.get_xydata(), [[0, -20], [1, -10], [2, 0], [3, -1], [4, -2]])
    np.testing.assert_array_equal(dot.get_xydata(), [[2.0, 0.0]])


def test_another_number_can_be_marked():
    peer = Peer().fit(np.random.default_rng(0).normal(size=(9, 3)))
    for model in (Weighed(), peer):
        (_, dot) = spectrum(model, n_components=1).plot(show="share").lines
        assert dot.get_xdata() == [1]
    (_, dot) = spectrum(Weighed(), n_components=4).plot(show="evidence").lines
    np.testing.assert_array_equal(dot.get_xydata(), [[4.0, -2.0]])


def test_relevances_are_bars():
    display = spectrum(Relevant())
    axes = display.plot()
    np.testing.assert_array_equal([bar.get_height() for bar in axes.patches], Relevant.relevances_)
    np.testing.assert_allclose([bar.get_center()[0] for bar in axes.patches], [0.0, 1.0, 2.0])
    assert axes.get_ylabel() == "relevance"


def test_a_peer_without_a_choice_has_no_mark():
    display = spectrum(Peer().fit(np.random.default_rng(0).normal(size=(9, 3))))
    assert len(display.plot(show="share").lines) == 1


@for_each(
    ("model", "show", "words"),
    [
        (Relevant(), "share", "show='share' is not available"),
        (Relevant(), "evidence", "show='evidence' is not available"),
        (Weighed(), "scree", "show='scree' must be 'values', 'share' or 'evidence'"),
    ],
)
def test_what_cannot_be_shown_is_named(model, show, words):
    with pytest.raises(ValueError, match=words):
        spectrum(model).plot(show=show)


def test_a_model_without_components_is_refused():
    with pytest.raises(TypeError, match="object has neither"):
        spectrum(object())


def test_given_axes_are_drawn_into():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    assert spectrum(Weighed()).plot(ax) is ax
    assert plt.get_fignums() == [figure.number]
