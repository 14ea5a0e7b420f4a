"""String kernels count what a person would count by hand."""

import itertools
from collections import Counter, defaultdict

import numpy as np
import pytest
from scipy import special
from support.for_each import for_each

from posterity.kernels.strings import Spectrum, Subsequence

WORDS = ["banana", "ananas", "gatta", "cata", "abracadabra", "b", ""]


def substrings(text, length):
    return Counter(text[i : i + length] for i in range(len(text)) if i + length <= len(text))


def subsequences(text, length, decay):
    """Every subsequence with the sum over its occurrences of decay^span."""
    found = defaultdict(float)
    for places in itertools.combinations(range(len(text)), length):
        found["".join(text[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
    return found


def products(features):
    """The matrix of inner products of dictionaries."""
    return np.array([[sum(a[f] * b.get(f, 0.0) for f in a) for b in features] for a in features])


@for_each("length", [1, 2, 3, 5])
def test_spectrum_counts_substrings(length):
    expected = products([substrings(word, length) for word in WORDS])
    K = Spectrum(length, normalize=False)(WORDS)
    np.testing.assert_array_equal(K, expected)


@for_each("decay", [0.05, 0.5, 1.0])
@for_each("length", [1, 2, 3, 5])
def test_subsequence_enumerates_occurrences_with_gaps(length, decay):
    expected = products([subsequences(word, length, decay) for word in WORDS])
    K = Subsequence(length, decay, normalize=False)(WORDS)
    np.testing.assert_allclose(K, expected, rtol=1e-13, atol=0.0)


def test_subsequence_has_the_polynomial_of_shawe_taylor_and_cristianini():
    decay = 0.3  # "at" and "ta" without and with a gap, "aa" with two and one
    (k,) = Subsequence(2, decay, normalize=False)(["gatta"], ["cata"]).ravel()
    assert k == pytest.approx(2 * decay**4 + 2 * decay**5 + decay**7, rel=1e-14)


# For length 1 they print the value of length 2 again; 6 is 0.3692 by enumeration as well.
@for_each(
    ("length", "published", "rounding"),
    [(2, 0.580, 5e-4), (3, 0.478, 5e-4), (4, 0.439, 5e-4), (5, 0.406, 5e-4), (6, 0.370, 1e-3)],
)
def test_subsequence_has_the_values_of_lodhi_and_others(length, published, rounding):
    kernel = Subsequence(length, decay=0.5)
    (k,) = kernel(["science is organized knowledge"], ["wisdom is organized life"]).ravel()
    assert k == pytest.approx(published, abs=rounding)


def test_subsequence_without_decay_counts_all_pairs():
    (k,) = Subsequence(5, decay=1.0, normalize=False)(["a" * 30], ["a" * 20]).ravel()
    assert k == special.comb(30, 5) * special.comb(20, 5)


def test_subsequence_becomes_spectrum_as_decay_vanishes():
    np.testing.assert_allclose(Subsequence(2, 1e-9)(WORDS), Spectrum(2)(WORDS), atol=1e-8)
    np.testing.assert_allclose(Subsequence(3, 1e-200)(WORDS), Spectrum(3)(WORDS), atol=1e-15)


@for_each("kernel", [Spectrum(2), Subsequence(2)])
def test_characters_of_any_script_are_compared(kernel):
    ascii_text, other = ["abcab", "bcda"], ["\u03b1\U0001f600\ud800\u03b1\U0001f600"]
    other.append("\U0001f600\ud800\u00e9\u03b1")
    np.testing.assert_array_equal(kernel(other), kernel(ascii_text))


@for_each("kernel", [Spectrum(2), Subsequence(2)])
def test_arrays_of_strings_are_taken(kernel):
    np.testing.assert_array_equal(kernel(np.array(WORDS)), kernel(WORDS))
    np.testing.assert_array_equal(kernel(np.array(WORDS, dtype=object)), kernel(WORDS))


@for_each("kernel", [Spectrum(2), Subsequence(2)])
@for_each(
    ("rows", "kind"),
    [
        (["ab", "cd", "ef", 4.0], "row 3 is a number"),
        (["ab", None], "row 1 is None"),
        ([["a"]], "row 0 is a list"),
        (["ab", b"cd"], "row 1 is bytes"),
        (np.zeros((2, 3)), "row 0 is an array"),
    ],
)
def test_rows_that_are_no_strings_are_named(kernel, rows, kind):
    name = type(kernel).__name__
    with pytest.raises(ValueError, match=f"^{kind}; {name} compares strings.$"):
        kernel(rows)
    with pytest.raises(ValueError, match=kind):
        kernel(["ab"], rows)


def test_a_string_instead_of_a_list_is_refused():
    with pytest.raises(ValueError, match=r"^X is a string; Spectrum takes a list of strings\.$"):
        Spectrum()("banana")


@for_each("length", [0, -1, 2.5, "3", None])
@for_each("kind", [Spectrum, Subsequence])
def test_lengths_are_positive_whole_numbers(kind, length):
    with pytest.raises(ValueError, match=r"length=.* must be a whole number"):
        kind(length)
