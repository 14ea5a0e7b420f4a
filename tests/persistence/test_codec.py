"""Any value that models are made of comes back from model.json as it was, and nothing else does."""

import functools
import io
import json
import math
from dataclasses import dataclass
from typing import NamedTuple

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import metrics
from support.effort import draws
from support.for_each import for_each

from posterity import features, kernels, persistence
from posterity.persistence import decoding, encoding, fields, registry, strict_json


@dataclass(frozen=True)
class Pair:
    left: object
    right: object = None

    @functools.cached_property
    def both(self):
        return (self.left, self.right)


class Corner(NamedTuple):
    x: int
    y: int


class Plain:
    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def twice(self):
        return 2 * self.x

    def method(self):
        return self.x


def own_function(x):
    return x


OWN = (Pair, Corner, Plain, own_function)


class NoParts:
    pass


def through(value, classes=OWN):
    """A value after a way through text and arrays."""
    known = registry.Registry(classes)
    document = encoding.encode(value, known)
    text = strict_json.write_json({"objects": document.objects, "root": document.root})
    contents = [b"".join(map(bytes, member.pieces())) for member in document.arrays]
    arrays = {i: array_of(content) for i, content in enumerate(contents)}
    return built(strict_json.read_json(text, "model.json"), arrays, classes)


def array_of(content):
    return np.load(io.BytesIO(content))


def built(document, arrays=(), classes=OWN):
    known = registry.Registry(classes)
    decoding.check_names(document, known)
    return decoding.decode(document, lambda i: arrays[i], len(arrays), known)


def same(one, two):
    """Equal in value and in type, all the way down; nan is nan."""
    assert type(one) is type(two)
    if isinstance(one, list | tuple):
        assert len(one) == len(two)
        for a, b in zip(one, two, strict=True):
            same(a, b)
    elif isinstance(one, dict):
        same(list(one.items()), list(two.items()))
    elif isinstance(one, float | np.floating):
        assert (
            one.tobytes() == two.tobytes()
            if isinstance(one, np.generic)
            else math.isnan(one) == math.isnan(two) and one.hex() == two.hex()
        )
    elif isinstance(one, np.ndarray):
        assert one.dtype == two.dtype
        assert one.shape == two.shape
        same(one.reshape(-1).tolist(), two.reshape(-1).tolist())
    else:
        assert one == two


ATOMS = [
    *(None, True, False, 0, -1, 2**63 - 1, 2**63, -(2**200), 0.1, -0.0, 5e-324, 1e308),
    *(math.nan, math.inf, -math.inf, "", "text", "\ud7ff\u2028\U0001f600\0", b"", b"\0\xff"),
    *(np.float64(-0.0), np.float32(0.1), np.float16(1.5), np.float64(np.nan), np.int8(-3)),
    *(np.uint64(2**64 - 1), np.bool_(True), np.str_("abc"), np.str_(""), np.bytes_(b"a")),
    *(np.complex128(1 - 2j), np.dtype("<f4"), np.dtype(object), float, np.float64, np.bool_),
    *(slice(None, 3), slice(1, 2, -1), np.log1p, metrics.r2_score, own_function, Pair),
]


@for_each("value", ATOMS, ids=lambda value: repr(value).partition(" at 0x")[0])
def test_a_value_without_parts_comes_back(value):
    same(value, through(value))
    same([value], through([value]))


CONTAINERS = [
    *([], (), {}, [()], ([1, 2], (3,)), {1: "a", (2, "b"): [3], None: {}, 1.5: 2, b"x": "y"}),
    *(Corner(1, 2), np.array(["a", None, 1.5, 2**70], dtype=object), np.array([[1, 2]], dtype="O")),
    np.array([[1, 2], None], dtype=object),
]


@for_each("value", CONTAINERS, ids=repr)
def test_a_value_with_parts_comes_back(value):
    same(value, through(value))


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
KEYS = st.booleans() | st.integers() | st.text() | st.binary()
NESTED = st.recursive(
    PLAIN | hnp.arrays(st.sampled_from(["<f8", "<i4", "|b1"]), hnp.array_shapes()),
    lambda parts: st.lists(parts) | st.tuples(parts, parts) | st.dictionaries(KEYS, parts),
    max_leaves=20,
)


@settings(max_examples=draws(60, least=10), deadline=None)
@given(NESTED)
def test_anything_nested_comes_back(value):
    same(value, through(value))


def test_what_was_one_object_is_one_object():
    array, shared = np.arange(3.0), [1]
    found = through(Pair([shared, shared, array], {"x": shared, "y": array}))
    assert found.left[0] is found.left[1] is found.right["x"]
    assert found.left[2] is found.right["y"]


def test_a_shared_object_is_written_once():
    value = (1,)
    for _ in range(20):
        value = (value, value)
    assert len(encoding.encode(value, registry.Registry()).objects) == 21


def test_few_objects_that_stand_for_too_many_are_refused():
    value, objects = (1,), [{"tuple": [1]}]
    for i in range(60):
        value = (value, value)
        objects.append({"tuple": [{"ref": i}, {"ref": i}]})
    with pytest.raises(persistence.FileError, match="10,000,000 values"):
        through(value)
    with pytest.raises(persistence.FileError, match="10,000,000 values"):
        built({"objects": objects, "root": 1})


def test_caches_stay_behind():
    pair, plain = Pair(1, 2), Plain(3)
    assert pair.both == (1, 2)
    assert plain.twice == 6
    assert vars(through(pair)) == {"left": 1, "right": 2}
    assert vars(through(plain)) == {"x": 3}


class Alarmed:
    """Whose own code is heard of when it runs."""

    armed = False

    def __new__(cls):
        assert not cls.armed
        return object.__new__(cls)

    def __init__(self):
        assert not self.armed
        self.x = 1

    def __setstate__(self, state):
        raise AssertionError

    def __setattr__(self, name, value):
        assert not self.armed
        object.__setattr__(self, name, value)


def test_no_code_of_a_class_runs_while_its_objects_are_built(monkeypatch):
    value = Alarmed()
    monkeypatch.setattr(Alarmed, "armed", True)
    assert through(value, (Alarmed,)).x == 1


def test_deep_values_come_back_until_a_limit():
    def nest(n):
        value = ()
        for _ in range(n):
            value = (value,)
        return value

    assert through(nest(encoding.MAX_DEPTH - 1)) is not None
    with pytest.raises(persistence.FileError, match="more than 900 levels deep"):
        through(nest(encoding.MAX_DEPTH))
    deep = [{"tuple": [{"ref": i - 1}] if i else []} for i in range(encoding.MAX_DEPTH + 1)]
    with pytest.raises(persistence.FileError, match="more than 900 levels deep"):
        built({"objects": deep, "root": {"ref": len(deep) - 1}})


@for_each("random", [np.random.default_rng(3), np.random.RandomState(3)])
def test_random_numbers_go_on(random):
    random.standard_normal(5)
    found = through(random)
    assert type(found) is type(random)
    np.testing.assert_array_equal(found.standard_normal(9), random.standard_normal(9))


def test_generators_of_other_kinds_are_refused():
    with pytest.raises(persistence.FileError, match="Philox"):
        through(np.random.Generator(np.random.Philox(0)))


@for_each("position", [-1, 625, 2**40, 1.0])
def test_a_generator_never_reads_beside_its_words(position):
    state = np.random.RandomState(0).get_state(legacy=False)
    state["state"]["pos"] = position
    known = registry.Registry()
    document = encoding.encode([state], known)
    random = {"random": "RandomState", "state": {"ref": len(document.objects) - 2}}
    arrays = {0: state["state"]["key"]}
    said = {"objects": [*document.objects, random], "root": 1}
    with pytest.raises(persistence.FileError, match="an invalid state"):
        built(said, arrays)


def test_a_part_that_files_do_not_hold_is_named():
    for part, words in [
        (lambda x: x, r"\.left\[0\]\['k'\]\.right is a function, .*lambda"),
        (NoParts(), r"\.right is a .*NoParts.*classes="),
        (NoParts, r"a class, NoParts"),
        ({1, 2}, r"a builtins.set"),
        (np.longdouble(1), "of NumPy's type"),
        (np.sin, "a function, sin"),
        (slice("a"), "a slice"),
        (2**20000, "too many digits"),
        (np.array([NoParts()], dtype=object), r"\.right\[0\] is a"),
    ]:
        value = Pair([{"k": Pair(1, part)}])
        with pytest.raises(persistence.FileError, match=f"^Model.*{words}"):
            encoding.encode(value, registry.Registry(OWN), "Model")


def test_arrays_of_devices_are_refused():
    with pytest.raises(persistence.FileError, match=r"array of array_api_strict.*without device="):
        through([array_api_strict.zeros(2)])


def test_what_holds_itself_is_refused():
    ring = []
    ring.append((ring,))
    with pytest.raises(persistence.FileError, match="contains itself"):
        through(ring)


def test_names_of_ones_own_are_looked_at():
    with pytest.raises(ValueError, match="two things named Pair"):
        registry.Registry((Pair, Pair))
    with pytest.raises(TypeError, match="classes and functions"):
        registry.Registry((3,))


RBF = {
    "class": "kernels.RBF",
    "fields": {"held": {"ref": 0}, "limits": {"ref": 0}, "length_scale": 1.0, "ard": False},
}


def other(**changes):
    return {"class": "kernels.RBF", "fields": RBF["fields"] | changes}


def test_the_document_of_a_kernel_is_read():
    document = {"objects": [{"tuple": []}, RBF], "root": {"ref": 1}}
    assert built(document) == kernels.RBF(1.0)


@for_each(
    ("entry", "words"),
    [
        (3, "does not describe an object"),
        ({}, "unknown kind"),
        ({"list": [], "tuple": []}, "unknown kind"),
        ({"list": 3}, "instead of a list"),
        ({"list": [[]]}, "unknown kind"),
        ({"list": [{"ref": 1}]}, "missing object"),
        ({"list": [{"ref": -1}]}, "missing object"),
        ({"list": [{"ref": True}]}, "missing object"),
        ({"list": [{"array": 0}]}, "missing array"),
        ({"list": [{"function": "os.system"}]}, "'os.system', which this version"),
        (
            {"list": [{"function": "features.kernel_columns._check_matrix"}]},
            "this version of posterity does not have",
        ),
        ({"list": [{"float": "1.5"}]}, "an invalid value"),
        ({"list": [{"float": []}]}, "an invalid value"),
        ({"list": [{"int": "0x1"}]}, "an invalid value"),
        ({"list": [{"int": "f" * 5000}]}, "an invalid value"),
        ({"list": [{"int": 3}]}, "an invalid value"),
        ({"list": [{"bytes": "0"}]}, "an invalid value"),
        ({"list": [{"scalar": ["|O", 1]}]}, "an invalid value"),
        ({"list": [{"scalar": ["<i4", 2**40]}]}, "an invalid value"),
        ({"list": [{"scalar": ["<i4", 1.5]}]}, "an invalid value"),
        ({"list": [{"scalar": ["<U9999999", "a"]}]}, "an invalid value"),
        ({"list": [{"scalar": []}]}, "an invalid value"),
        ({"list": [{"scalar": ["|b1", 1]}]}, "an invalid value"),
        ({"list": [{"scalar": ["|S1", 10**12]}]}, "an invalid value"),
        ({"list": [{"dtype": "<M8[s]"}]}, "an invalid value"),
        ({"list": [{"type": "os.system"}]}, "an invalid value"),
        ({"list": [{"type": []}]}, "an invalid value"),
        ({"list": [{"ufunc": "__class__"}]}, "an invalid value"),
        ({"list": [{"slice": [1, 2, "a"]}]}, "an invalid value"),
        ({"dict": 3}, "invalid dictionary"),
        ({"dict": [[1]]}, "invalid keys"),
        ({"dict": [[1, 2], [1, 3]]}, "same key twice"),
        ({"dict": [[1, 2], [True, 3]]}, "same key twice"),
        ({"objects": [1, 2], "shape": [3]}, "does not match its shape"),
        ({"objects": [1, 2], "shape": [-1]}, "does not match its shape"),
        ({"objects": [1, 2], "shape": 2}, "does not match its shape"),
        ({"random": "Generator", "state": 1}, "unknown kind"),
        ({"random": "Generator", "state": {"ref": 0}}, "unknown kind"),
        ({"class": "os.system", "fields": {}}, "this version of posterity does not have"),
        ({"class": "kernels.base.Kernel", "fields": {}}, "this version of posterity does not have"),
        ({"class": 3, "fields": {}}, "this version of posterity does not have"),
        ({"class": "sklearn.metrics.r2_score", "fields": {}}, "an invalid object of class"),
        ({"class": "kernels.RBF", "fields": []}, "an invalid object of class"),
        (
            {"class": "kernels.RBF", "fields": {"length": 1.0}},
            "RBF has the fields held, limits, length_scale, ard",
        ),
        (other(more=1), "the file differs in: more"),
        (other(length_scale="1"), "RBF.length_scale cannot be a str"),
        (other(length_scale=-1.0), "invalid RBF"),
        (other(held=1), "RBF.held cannot be a int"),
        ({"class": "priors.Flat", "fields": {"more": 1}}, "the file differs in: more"),
        ({"class": "features.Identity", "fields": {"transform": 1}}, "attribute 'transform'"),
        ({"class": "features.Identity", "fields": {"__class__": 1}}, "attribute '__class__'"),
        ({"class": "features.Identity", "fields": {"a b": 1}}, "attribute 'a b'"),
        ({"class": "tables.TableModel", "fields": {}}, "TableModel needs estimator"),
        ({"class": "own.Plain", "fields": {"twice": 1}}, "attribute 'twice'"),
        ({"class": "own.Corner", "fields": {"x": 1}}, "Corner has the fields x, y"),
    ],
)
def test_a_document_that_describes_no_model_is_refused(entry, words):
    json.dumps(entry)
    with pytest.raises(persistence.FileError, match=words):
        built({"objects": [{"tuple": []}, entry], "root": {"ref": 1}})


@for_each("document", [3, {}, {"objects": {}, "root": 1}, {"objects": []}])
def test_what_is_no_document_is_refused(document):
    with pytest.raises(persistence.FileError, match=r"model\.json"):
        built(document)


def test_an_array_that_nothing_refers_to_is_refused():
    with pytest.raises(persistence.FileError, match="not part of the model"):
        built({"objects": [], "root": 1}, {0: np.zeros(2)})


def test_an_unknown_class_is_refused_before_any_array_is_read():
    document = {"objects": [{"list": [{"array": 0}]}, {"class": "x.Y", "fields": {}}], "root": 1}
    with pytest.raises(persistence.FileError, match=r"x\.Y"):
        decoding.check_names(document, registry.Registry())


@for_each(
    ("value", "hint", "expected"),
    [
        *((1, int, True), (1.0, int, False), (True, int, False), (np.int64(1), int, True)),
        *((1, float, True), (np.float32(1), float, True), (True, float, False)),
        *((True, bool, True), (np.True_, bool, True), (1, bool, False), ("a", str, True)),
        *((None, int | None, True), ("a", int | None, False), ((1, 2), tuple[int, int], True)),
        *(((1,), tuple[int, int], False), ((), tuple[int, ...], True), ([], tuple, False)),
        *((kernels.RBF(), kernels.Kernel, True), (features.Identity(), kernels.Kernel, False)),
    ],
)
def test_values_are_held_against_what_was_declared(value, hint, expected):
    assert fields.matches_annotation(value, hint) is expected
