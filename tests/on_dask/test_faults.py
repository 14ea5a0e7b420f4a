"""What goes wrong on a cluster: lost workers, partitions that are odd, clients that leave."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import dask_rows
import numpy as np
import pytest
from sklearn.base import clone

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

import pandas as pd  # noqa: E402

from posterity import (  # noqa: E402
    BayesianLinearRegression,
    BayesianLogisticRegression,
    designs,
)

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def mortal(started):
    """A cluster whose workers may die, and come back; a task may see one of them die."""
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}), started() as cluster:
        yield cluster


@pytest.fixture
def survivor(mortal):
    """A client of workers that may die."""
    with distributed.Client(mortal) as client:
        client.wait_for_workers(2, timeout=30)
        yield client


def deadly(X, diary, visits, block_id=None):
    """X; but the worker is killed who comes to the last partition on one of these visits."""
    if block_id[0] == 4:
        with open(diary, "ab") as file:
            file.write(b".")
        if os.path.getsize(diary) in visits:
            os.kill(os.getpid(), signal.SIGKILL)
    return X


def guarded(rows, diary, visits):
    """Rows on Dask, of which the last partition kills."""
    lazy = dask_rows.as_arrays(rows)
    X = lazy.X.map_blocks(deadly, str(diary), visits, dtype=float)
    return dask_rows.Rows(X, lazy.y, lazy.sample_weight)


def test_a_fit_survives_a_worker_killed_in_a_newton_step(survivor, tmp_path):
    model, rows = BayesianLogisticRegression(prior_variance=1.0), dask_rows.classified()
    with dask.config.set(scheduler="synchronous"):
        undisturbed = clone(model).fit(*dask_rows.as_arrays(rows).parts)
    # Targets and sizes take the first visits; of the last, each is a step.
    found = clone(model).fit(*guarded(rows, tmp_path / "diary", {5}).parts)
    assert os.path.getsize(tmp_path / "diary") > 5
    np.testing.assert_allclose(found.coef_, undisturbed.coef_, rtol=1e-10)
    np.testing.assert_allclose(found.intercept_, undisturbed.intercept_, rtol=1e-10)
    assert found.n_iter_ == undisturbed.n_iter_


def test_workers_that_die_at_the_same_piece_again_and_again_are_told_of(survivor, tmp_path):
    X = guarded(dask_rows.classified(), tmp_path / "diary", range(1, 100)).X
    with pytest.raises(RuntimeError, match=r"Workers died repeatedly .* smaller partitions"):
        designs.Streamed(designs.Partitions.from_collections(X)).gram()
    assert os.path.getsize(tmp_path / "diary") == 2


def table():
    rows = dask_rows.measured(40)
    names = dask_rows.NAMES[: rows.X.shape[1]]
    X, y = pd.DataFrame(rows.X, columns=names), pd.Series(rows.y, name="outcome")
    return X, y, pd.Series(rows.sample_weight, name="count")


def spoilt(part, change):
    """On Dask, with one partition of four other than the rest."""
    pieces = [part.iloc[a:b].copy() for a, b in ((0, 15), (15, 15), (15, 25), (25, 40))]
    pieces[2] = change(pieces[2])
    return dd.from_map(unchanged, pieces, meta=part.iloc[:0])


def unchanged(piece):
    return piece


def put(row, column, value):
    def change(piece):
        odd = piece.astype({column: object}) if isinstance(value, str) else piece
        odd.loc[piece.index[row], column] = value
        return odd

    return change


ODD_INPUTS = {
    "NaN": (put(3, "height", np.nan), "column 'height', row 3 of partition 2 is NaN"),
    "infinite": (put(0, "age", np.inf), "column 'age', row 0 of partition 2 is infinite"),
    "text": (put(3, "height", "tall"), "column of partition 2 does not hold real .*'tall'"),
    "missing": (lambda t: t.drop(columns="height"), r"partition 2 .* it lacks \['height'\]"),
    "extra": (lambda t: t.assign(odd=1.0), r"partition 2 .* it has also \['odd'\]"),
    "reordered": (lambda t: t[["height", "age", "weight"]], "partition 2 .* order"),
    "shorter": (lambda t: t.iloc[:-1], r"y of partition 2 has shape \(10,\), but X has 9 rows"),
}


@pytest.mark.parametrize(("change", "sentence"), ODD_INPUTS.values(), ids=ODD_INPUTS)
def test_an_odd_partition_of_a_data_frame_is_named(change, sentence):
    X, y, _ = table()
    with dask.config.set(scheduler="synchronous"), pytest.raises(ValueError, match=sentence):
        BayesianLinearRegression().fit(spoilt(X, change), spoilt(y, unchanged))


ODD_TARGETS = {
    "NaN": (lambda y: y.where(y.index != 18), "target 'outcome', row 3 of partition 2 is NaN"),
    "longer": (lambda y: pd.concat([y, y]), r"y of partition 2 has shape \(20,\), but X has 10"),
    "text": (lambda y: y.map("{:.1f} mm".format), "partition 2 does not hold real numbers"),
}


@pytest.mark.parametrize(("change", "sentence"), ODD_TARGETS.values(), ids=ODD_TARGETS)
def test_odd_targets_of_a_partition_are_named(change, sentence):
    X, y, _ = table()
    with dask.config.set(scheduler="synchronous"), pytest.raises(ValueError, match=sentence):
        BayesianLinearRegression().fit(spoilt(X, unchanged), spoilt(y, change))


def test_an_odd_weight_of_a_partition_is_named():
    X, y, w = table()
    count = spoilt(w, lambda w: w.where(w.index != 18, -1.0))
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(ValueError, match="sample_weight, row 3 of partition 2 is -1"),
    ):
        BayesianLinearRegression().fit(spoilt(X, unchanged), spoilt(y, unchanged), count)


ODD_BLOCKS = {
    "NaN": (lambda X: np.where(np.arange(3) == 2, np.nan, X), "column 2, row 0 of partition 2"),
    "narrow": (lambda X: X[:, :2], "X of partition 2 has 2 columns but 3"),
    "text": (lambda X: X.astype(str), "partition 2 does not hold real numbers"),
}


@pytest.mark.parametrize(("change", "sentence"), ODD_BLOCKS.values(), ids=ODD_BLOCKS)
def test_an_odd_block_of_an_array_is_named(change, sentence):
    lazy = dask_rows.as_arrays(dask_rows.measured(40))

    def spoil(X, block_id=None):
        return change(X) if block_id[0] == 2 else X

    X = lazy.X.map_blocks(spoil, dtype=float)
    with dask.config.set(scheduler="synchronous"), pytest.raises(ValueError, match=sentence):
        BayesianLinearRegression().fit(X, lazy.y)


def test_an_odd_partition_is_named_from_a_worker_too(client):
    X, y, _ = table()
    change, sentence = ODD_INPUTS["NaN"]
    with pytest.raises(ValueError, match=sentence):
        BayesianLinearRegression().fit(spoilt(X, change), spoilt(y, unchanged))


LONG_FIT = """
    import signal, sys, time
    import dask.array as da, distributed
    from posterity import LogisticRegression

    signal.signal(signal.SIGINT, signal.default_int_handler)  # which jobs in the background lack

    def slowly(X):
        time.sleep(0.1)
        return X

    with distributed.Client(sys.argv[1]):
        X = da.random.default_rng(0).normal(size=(2000, 3), chunks=(10, 3)).map_blocks(slowly)
        try:
            LogisticRegression().fit(X, X[:, 0] > 0.0)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            sys.stdin.read()
"""


def n_tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def becomes(question, seconds):
    """Whether a question is answered with yes in time."""
    end = time.monotonic() + seconds
    while not question() and time.monotonic() < end:
        time.sleep(0.05)
    return question()


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_nothing_goes_on_for_a_client_that_was_stopped(sent, client):
    words = [sys.executable, "-c", textwrap.dedent(LONG_FIT), client.scheduler.address]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, text=True, **pipes) as other:
        try:
            assert becomes(lambda: n_tasks(client) > 100, 120.0)
            other.send_signal(sent)
            if sent == signal.SIGINT:
                assert other.stdout.readline() == "interrupted\n"  # it stays connected
            assert becomes(lambda: n_tasks(client) == 0, 60.0)
        finally:
            other.kill()
