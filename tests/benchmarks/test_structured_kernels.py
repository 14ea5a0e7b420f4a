"""Nothing that is tested on is learned from, and the page shows what was measured, on a toy."""

import json

import numpy as np
import pytest
from benchmarks import structured_kernels
from benchmarks.options import Options
from support.for_each import for_each

PART = ["ab" * 10, "abb" * 7, "aab" * 7, "ba" * 9]


def toy(**changes):
    rows = [word * 2 for word in PART] + [word.upper() for word in PART] * 2
    y = np.repeat([-1.0, 1.0], [4, 8])
    odd = np.arange(12) % 2 == 1
    halves = np.flatnonzero(odd), np.flatnonzero(~odd)
    parts = {
        "name": "toy",
        "rows": rows,
        "y": y,
        "groups": np.arange(12),
        "splits": [halves, halves[::-1]],
        "kernels": {"pairs": [structured_kernels.Spectrum(n) for n in (1, 2)]},
        "published": {"pairs": "99.9", "a guess": "50.0"},
        "note": "A note.",
    }
    return structured_kernels.Problem(**(parts | changes))


@pytest.fixture
def few_folds(monkeypatch):
    monkeypatch.setattr(structured_kernels, "INNER_FOLDS", 2)


@for_each("groups", [np.arange(20), np.arange(20) // 3], ids=["one", "three"])
def test_errors_of_rows_left_out_are_those_of_fits_without_them(groups):
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(20, 30)), rng.choice([-1.0, 1.0], size=20)
    K = Z @ Z.T
    expected = []
    for penalty in structured_kernels.RIDGE_PENALTIES:
        squares = []
        for group in np.unique(groups):
            out, kept = groups == group, groups != group
            A = K[np.ix_(kept, kept)] + penalty * np.eye(kept.sum())
            squares += list((y[out] - K[np.ix_(out, kept)] @ np.linalg.solve(A, y[kept])) ** 2)
        expected.append(np.mean(squares))
    errors = structured_kernels.left_out_errors(K, y, groups)
    np.testing.assert_allclose(errors, expected, rtol=1e-6)


@pytest.mark.parametrize("classifier", structured_kernels.CLASSIFIERS)
def test_labels_that_are_tested_on_are_not_learned_from(few_folds, classifier):
    problem = toy()
    classify = structured_kernels.CLASSIFIERS[classifier]
    train, test = problem.splits[0]
    matrices = [kernel(problem.rows) for kernel in problem.kernels["pairs"]]
    right = classify(problem, matrices, train, test)
    np.testing.assert_array_equal(right, 1.0)
    turned = problem.y.copy()
    turned[test] *= -1.0
    np.testing.assert_array_equal(classify(toy(y=turned), matrices, train, test), 0.0)


def test_standard_error_of_equal_parts_is_that_of_their_mean():
    parts = [np.array(part, dtype=float) for part in ([1, 1], [1, 0], [0, 0], [1, 1])]
    means = [part.mean() for part in parts]
    measured = structured_kernels.accuracy(parts)
    assert measured["percent"] == pytest.approx(62.5)
    assert measured["standard_error"] == pytest.approx(100.0 * np.std(means, ddof=1) / 2.0)


def test_strings_that_share_a_long_substring_are_of_one_group():
    left, middle, right = "abcdefghijkl", "mnopqrstuvwx", "ABCDEFGHIJKL"
    rows = [left + "1", "23" + left + middle, right, middle + "4", "short", left[1:]]
    groups = structured_kernels.group_overlapping(rows)
    assert groups[0] == groups[1] == groups[3]
    assert len(set(groups.tolist())) == 4


def test_graphs_are_cut_from_the_union():
    labels, owner = np.array([1, 2, 3, 4, 5]), np.array([0, 0, 1, 1, 1])
    edges = np.array([[0, 1], [1, 0], [2, 4], [4, 3]])
    first, second = structured_kernels._graphs(labels, owner, edges)
    assert first == structured_kernels.Graph([1, 2], [(0, 1)])
    assert second == structured_kernels.Graph([3, 4, 5], [(0, 2), (1, 2)])


def test_the_page_shows_accuracies_beside_published_ones(few_folds, monkeypatch, tmp_path):
    monkeypatch.setattr(structured_kernels, "FOLDER", tmp_path)
    monkeypatch.setattr(structured_kernels, "problems", lambda: [toy()])
    structured_kernels.run(Options(repeats=1, folder=tmp_path))
    page = (tmp_path / "structured_kernels.md").read_text()
    (row,) = [line for line in page.splitlines() if line.startswith("| pairs")]
    assert row.startswith("| pairs | 100.0 +- 0.0 | 100.0 +- 0.0 | 99.9 |")
    assert "| a guess | - | - | 50.0 | - |" in page
    (task,) = json.loads((tmp_path / "structured_kernels.json").read_text())["tasks"]
    assert task["kernels"]["pairs"]["settings"] == ["Spectrum(1)", "Spectrum(2)"]


def test_absent_data_are_no_error(monkeypatch, tmp_path):
    monkeypatch.setattr(structured_kernels, "FOLDER", tmp_path / "absent")
    structured_kernels.run(Options(folder=tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not structured_kernels.FOLDER.exists(), reason="the data are not here")
def test_problems_are_those_of_the_literature():
    mutag, one_out, apart = structured_kernels.problems()
    assert len(mutag.rows) == 188
    assert np.mean(mutag.y > 0) == pytest.approx(0.665, abs=1e-3)
    assert [len(test) for _, test in mutag.splits] == [18] * 10
    assert len(one_out.splits) == 106
    for train, test in apart.splits:
        K = structured_kernels.Spectrum(structured_kernels.OVERLAP, normalize=False)(
            [apart.rows[i] for i in train], [apart.rows[i] for i in test]
        )
        assert not K.any()
