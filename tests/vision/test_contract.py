"""What every system of vision promises: a card, one convention of arguments, one of answers."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from support.for_each import for_each

import posterity
from posterity import StagewiseClassifier, vision

PIXELS = (vision.TextonSegmenter, vision.SurfaceLayout, vision.BodyPartForest)
PARTS = {vision.Gabor, vision.ShapeContexts}  # of systems: transformers
SYSTEMS = {
    thing
    for thing in (getattr(vision, name) for name in vision.__all__)
    if inspect.isclass(thing) and issubclass(thing, BaseEstimator)
} - PARTS
# Neither learns from pairs of an image and an answer.
OF_THEIR_OWN = {vision.WindowDetector, vision.DisplacementTracker}
ANSWERS = {f"predict{kind}" for kind in ("", "_proba", "_dist", "_entropy", "_modes")}
ANSWERS |= {"detect", "step"}
ORDER = ("groups", "times")


def name_of(cls):
    return cls.__name__


every_system = pytest.mark.parametrize("cls", sorted(SYSTEMS, key=name_of), ids=name_of)


@pytest.fixture(scope="module")
def streets():
    return vision.datasets.streets(6, (40, 56))


@pytest.fixture(scope="module")
def people():
    camera = vision.bodies.Camera(60, 80, 70.0)
    return vision.datasets.bodies(24, max_turn=30.0, camera=camera, distance=(2.0, 2.6))


@pytest.fixture(scope="module")
def fitted(streets, people):
    """A small model of each class that answers images by maps."""
    names = dict(enumerate(streets.names))
    sets = {"names": names, "groups": np.arange(6)}
    small = {"n_estimators": 4, "cv": 2, "random_state": 0}
    segmenter = vision.TextonSegmenter(
        8, n_colors=0, n_gradients=0, max_features=8, pixels_per_image=40, **small
    )
    layout = vision.SurfaceLayout([("felzenszwalb", 50)], max_size=56, **small)
    forest = vision.BodyPartForest(2, max_features=8, max_depth=6, random_state=0)
    return {
        vision.TextonSegmenter: segmenter.fit(streets.images, streets.labels, **sets),
        vision.SurfaceLayout: layout.fit(streets.images, streets.labels, **sets),
        vision.BodyPartForest: forest.fit(people.depth, people.parts),
    }


@pytest.fixture(scope="module")
def images(streets, people):
    of_people = dict.fromkeys([vision.BodyPartForest], people.depth[:2])
    return {cls: of_people.get(cls, streets.images[:2]) for cls in PIXELS}


@every_system
def test_a_system_has_a_card_of_its_own(cls):
    card = vars(vars(cls)["card"])
    assert all(words for name, words in card.items() if name != "candidates")


@every_system
def test_parameters_are_kept_as_they_are_given(cls):
    model = cls()
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("cls", sorted(SYSTEMS - OF_THEIR_OWN, key=name_of), ids=name_of)
def test_images_come_first_and_the_rest_has_names(cls):
    parameters = list(inspect.signature(cls.fit).parameters.values())[1:]
    first, rest = parameters[:2], parameters[2:]
    assert [one.name for one in first] == ["X", "y"]
    given = [one for one in rest if one.name != "sample_weight"]  # as in all classifiers
    assert all(one.kind is inspect.Parameter.KEYWORD_ONLY for one in given)
    ordered = [one.name for one in given if one.name in ORDER]
    assert ordered == [name for name in ORDER if name in ordered]


@every_system
def test_a_system_that_is_not_fitted_says_so(cls):
    answers = ANSWERS & set(dir(cls))
    assert answers
    for name in answers:
        with pytest.raises(NotFittedError):
            getattr(cls(), name)(np.eye(9, dtype=np.uint8)[None])


every_map = pytest.mark.parametrize("cls", PIXELS, ids=name_of)


@every_map
def test_a_list_of_images_has_a_list_of_answers(cls, fitted, images):
    model, X = fitted[cls], images[cls]
    for name in ("predict_proba", "predict", "predict_entropy"):
        answer = getattr(model, name)
        one, stacked, listed = answer(X[1]), answer(X), answer(list(X))
        assert isinstance(listed, list)
        assert one.shape[:2] == X[1].shape[:2]
        np.testing.assert_array_equal(stacked[1], one)
        np.testing.assert_array_equal(listed[1], one)
    together, apart = model.predict_dist(X), model.predict_dist(list(X))
    np.testing.assert_array_equal(together.mode()[1], apart[1].mode())


@every_map
def test_names_are_a_tuple_with_one_for_each_column(cls, fitted, images, streets):
    model = fitted[cls]
    p = model.predict_proba(images[cls][0])
    assert isinstance(model.names_, tuple)
    assert len(model.names_) == p.shape[-1]
    if cls is not vision.BodyPartForest:
        assert model.names_ == streets.names


@every_map
def test_entropy_is_that_of_the_distribution(cls, fitted, images):
    model, image = fitted[cls], images[cls][0]
    bits = model.predict_dist(image).entropy() / np.log(2.0)
    np.testing.assert_allclose(model.predict_entropy(image), bits, rtol=1e-5, atol=1e-6)


@every_map
def test_a_file_keeps_the_answers(cls, fitted, images, tmp_path):
    posterity.save(fitted[cls], tmp_path / "model.posterity")
    again = posterity.load(tmp_path / "model.posterity")
    image = images[cls][0]
    np.testing.assert_array_equal(again.predict_proba(image), fitted[cls].predict_proba(image))


@for_each("kind", [bool, np.uint8, float])
def test_a_mask_is_what_is_not_zero(kind):
    figure = np.zeros((60, 40), dtype=bool)
    figure[10:50, 15:25] = True
    figure[20:30, 10:30] = True
    masks = [figure, np.roll(figure, 5, axis=1)]
    contexts = vision.ShapeContexts(4, n_points=40).fit(masks)
    given = [np.asarray(mask, dtype=kind) * kind(1) for mask in masks]
    np.testing.assert_array_equal(contexts.transform(given), contexts.transform(masks))
    np.testing.assert_array_equal(contexts.transform(figure), contexts.transform([figure]))


def test_patches_are_a_list_too():
    rng = np.random.default_rng(0)
    patches = rng.integers(0, 255, (20, 12, 12), dtype=np.uint8)
    model = vision.PatchClassifier(
        (12, 12), features=vision.Gabor((3,)), classifier=StagewiseClassifier(2, random_state=0)
    ).fit(patches, np.arange(20) % 2)
    np.testing.assert_array_equal(model.predict_proba([*patches]), model.predict_proba(patches))
