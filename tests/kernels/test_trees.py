"""The tree kernel sums over all fragments that two trees share."""

import itertools
from collections import Counter

import numpy as np
import pytest
from support.for_each import for_each

from posterity.kernels.trees import SubsetTree, parse_tree

SENTENCES = [
    "(S (NP (D the) (N dog)) (VP (V saw) (NP (D the) (N cat))))",
    "(S (NP (D the) (N cat)) (VP (V saw) (NP (D a) (N dog))))",
    "(S (NP (D the) (N dog)) (VP (V barks)))",
    "(S (S (NP (N dogs)) (VP (V bark))) and (S (NP (N cats)) (VP (V sleep))))",
    "(N dog)",
    "(X (X (X (X x))) (X (X x) (X x)))",
]
TREES = [parse_tree(text) for text in SENTENCES]


def fragments_at(node):
    """Every fragment with this root, as a nested tuple with its size; a cut node is a 1-tuple."""
    choices = [
        [(child, 0)] if isinstance(child, str) else [((child[0],), 0), *fragments_at(child)]
        for child in node[1:]
    ]
    for children in itertools.product(*choices):
        yield (node[0], *(c for c, _ in children)), 1 + sum(size for _, size in children)


def all_fragments(node):
    found = Counter(fragments_at(node))
    for child in node[1:]:
        found += all_fragments(child) if isinstance(child, tuple) else Counter()
    return found


def enumerated(trees, decay):
    bags = [all_fragments(tree) for tree in trees]
    return np.array(
        [[sum(decay ** f[1] * n * b[f] for f, n in a.items()) for b in bags] for a in bags]
    )


@for_each("decay", [0.05, 0.4, 1.0])
def test_subset_tree_enumerates_fragments(decay):
    K = SubsetTree(decay, normalize=False)(TREES)
    np.testing.assert_allclose(K, enumerated(TREES, decay), rtol=1e-13, atol=0.0)


def test_random_trees_agree_with_enumeration():
    rng = np.random.default_rng(0)

    def grown(depth):
        label = str(rng.choice(["A", "B"]))
        if depth == 0 or rng.random() < 0.2:
            return (label, *("xyz"[rng.integers(3)] for _ in range(rng.integers(1, 3))))
        return (label, *(grown(depth - 1) for _ in range(rng.integers(1, 3))), *"x"[: depth % 2])

    trees = [grown(3) for _ in range(25)]
    K = SubsetTree(0.7, normalize=False)(trees)
    np.testing.assert_allclose(K, enumerated(trees, 0.7), rtol=1e-12, atol=0.0)


def test_a_small_phrase_has_the_six_fragments_of_collins_and_duffy():
    phrase = parse_tree("(NP (D the) (N apple))")
    assert SubsetTree(1.0, normalize=False)([phrase]) == [[6.0]]


def test_a_leaf_is_not_the_cut_of_an_inner_node():
    inner, leaf = ("S", ("N", "x")), ("S", "N")
    assert SubsetTree(1.0, normalize=False)([inner], [leaf]) == [[0.0]]


def test_order_of_children_matters():
    a, b = ("S", ("A", "x"), ("B", "y")), ("S", ("B", "y"), ("A", "x"))
    assert SubsetTree(1.0, normalize=False)([a], [b]) == [[2.0]]


def test_deep_trees_need_no_recursion():
    n, m = 2000, 30
    deep, shallow = (parse_tree("(A " * depth + "x" + ")" * depth) for depth in (n, m))
    # Chains that are cut before the leaf, and those down to it.
    expected = np.minimum.outer(np.arange(n), np.arange(m)).sum() + m
    assert SubsetTree(1.0, normalize=False)([deep], [shallow]) == [[expected]]


def test_a_tiny_decay_does_not_underflow():
    np.testing.assert_array_equal(np.diag(SubsetTree(1e-300)(TREES)), 1.0)


def test_fragments_beyond_counting_are_refused_by_row():
    def complete(depth):
        return ("A", "x") if depth == 0 else ("A", complete(depth - 1), complete(depth - 1))

    small, large = ("A", "x"), complete(9)
    beyond = r"^row 1 has features beyond counting.*smaller decay"
    for kernel in (SubsetTree(1.0), SubsetTree(1.0, normalize=False)):
        with pytest.raises(ValueError, match=beyond):
            kernel([small, large])
        with pytest.raises(ValueError, match=beyond):
            kernel.tangent([small, large])
    with pytest.raises(ValueError, match=beyond):
        SubsetTree(1.0, normalize=False).diag([small, large])
    for X, Z in itertools.permutations([[small, large], [small]]):
        with pytest.raises(ValueError, match=beyond):
            SubsetTree(1.0)(X, Z)
        with pytest.raises(ValueError, match=beyond):
            SubsetTree(1.0).tangent(X, Z)


@for_each(
    ("row", "sentence"),
    [
        ("(S dogs)", "row 1 is a string; SubsetTree compares trees, .*parse_tree"),
        (3, "row 1 is a number; SubsetTree compares trees"),
        ([("N", "x")], "row 1 is a list"),
        ((), "row 1 is a tuple"),
        (("S",), r"row 1 has the node \('S',\), without children; write a leaf as 'S'"),
        (("S", ("N",)), r"row 1 has the node \('N',\), without children; write a leaf as 'N'"),
        (("S", 4), "row 1 has a node that is a number; a node is a tuple"),
        (("S", ["N", "x"]), "row 1 has a node that is a list"),
        (("S", ((), "x")), r"row 1 has the node \(\(\), 'x'\), which has no string as its label"),
        (("S", ()), r"row 1 has the node \(\), which has no string"),
    ],
)
def test_malformed_trees_are_named(row, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        SubsetTree()([("N", "x"), row])


def test_one_tree_instead_of_a_list_is_refused():
    with pytest.raises(ValueError, match=r"^X is a tuple; SubsetTree takes a list of trees"):
        SubsetTree()(("S", "x"))


def test_parse_tree_reads_nested_brackets_and_any_white_space():
    expected = ("S", ("NP", "dogs"), ("VP", ("V", "bark"), "!"))
    assert parse_tree("(S (NP dogs) (VP (V bark) !))") == expected
    assert parse_tree(" (S(NP dogs)\n\t(VP (V\tbark)!)) ") == expected


@for_each(
    ("text", "sentence"),
    [
        ("(S (NP dogs)", "the text ends while 1 brackets are still open"),
        ("(S dogs))", "the bracket closed at character 8 was never opened"),
        ("(S)", "closed at character 2 has no children: write the leaf 'S' without brackets"),
        ("()", "closed at character 1 has no label"),
        ("((S x))", "closed at character 6 has no label"),
        ("dogs", "'dogs' is not one tree in brackets"),
        ("", "'' is not one tree in brackets"),
        ("(S x) (S y)", "is not one tree in brackets"),
        ("(S x) y", "is not one tree in brackets"),
    ],
)
def test_parse_tree_says_where_brackets_are_wrong(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        parse_tree(text)
