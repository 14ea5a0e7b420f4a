"""``posterity ... --dask``: a folder of Parquet files, worked on by the workers of a cluster."""

import json
import multiprocessing
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
import typer
from typer.testing import CliRunner

import posterity
from posterity import comparison, tables
from posterity.cli import app, output
from posterity.cli import cluster as clusters
from posterity.models import Size
from posterity.tables import partitioned

dask = pytest.importorskip("dask")
cloudpickle = pytest.importorskip("cloudpickle")


LENGTHS = (300, 120, 0, 441, 77)


def _rows(n, rng):
    size = rng.uniform(40.0, 200.0, n)
    town = rng.choice(["Bern", "Basel", "Chur"], n)
    price = 100.0 + 3.0 * size + 80.0 * (town == "Bern") + rng.normal(0.0, 10.0, n)
    days = np.datetime64("2022-01-01") + rng.integers(0, 900, n)
    kind = np.where(size + rng.normal(0.0, 30.0, n) > 120.0, "big", "small")
    frame = pl.DataFrame({"size": size, "town": town, "sold": days, "kind": kind, "price": price})
    hole, gap = pl.int_range(pl.len()) % 11 == 0, pl.int_range(pl.len()) % 17 == 3
    return frame.with_columns(
        pl.when(hole).then(None).otherwise(pl.col("size")).alias("size"),
        pl.when(gap).then(None).otherwise(pl.col("price")).alias("price"),
    )


@pytest.fixture
def at(tmp_path, monkeypatch):
    """A folder with the files of a table, and the same rows in one file."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frames = [_rows(n, rng) for n in LENGTHS]
    (tmp_path / "sales").mkdir()
    for number, frame in enumerate(frames):
        frame.write_parquet(tmp_path / "sales" / f"{number}.parquet")
    (tmp_path / "sales" / "_unfinished.parquet").write_text("what another program left")
    pl.concat(frames).write_parquet(tmp_path / "all.parquet")
    return tmp_path


@pytest.fixture
def run(at, cluster):
    """Run the command on the cluster that is there, unless the words name another."""

    def invoke(line, **more):
        words = line.split()
        if "--dask" not in words:
            words += ["--dask", cluster.scheduler_address]
        return CliRunner().invoke(app, words, **more)

    return invoke


@pytest.fixture
def here():
    """Dask without a cluster, in this very thread."""
    with dask.config.set(scheduler="synchronous"):
        yield


def _in_memory(line):
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 0, result.output
    return result


def _told(result):
    return " ".join(result.output.replace("\u2502", " ").split())


def test_a_fit_on_dask_is_the_fit_in_memory(run, at):
    options = "--target price --model linear --drop kind"
    result = run(f"fit sales {options}")
    assert result.exit_code == 0, result.output
    assert "The 4 files have 938 rows; column types were inferred from all" in _told(result)
    assert "predict model.posterity sales --dask tcp://" in _told(result)
    _in_memory(f"fit all.parquet {options} --rows all --save memory.posterity")
    model, expected = (posterity.load(at / f"{n}.posterity") for n in ("model", "memory"))
    assert (model.n_rows_, model.n_left_out_) == (expected.n_rows_, expected.n_left_out_)
    assert model.profile_ == expected.profile_
    frame = pl.read_parquet(at / "all.parquet")
    for ask in ("mean", "variance"):
        values = [getattr(m.predict_dist(frame), ask)() for m in (model, expected)]
        np.testing.assert_allclose(*values, rtol=1e-8)
    evidence = [m.estimator_.log_evidence_ for m in (model, expected)]
    np.testing.assert_allclose(*evidence, rtol=1e-8)


def test_large_files_are_cut_and_nothing_changes(at, here, monkeypatch):
    source = tables.open_partitions(at / "sales")
    frame = source.sample(None).frame
    assert frame.equals(pl.read_parquet(at / "all.parquet"))
    schema = tables.infer(frame, "price")
    whole = tables.SpreadRows.from_source(source, frame, schema, folds=4, seed=3)
    monkeypatch.setattr(partitioned, "_FEWEST_ROWS", 10)
    monkeypatch.setattr(partitioned, "_VALUES", 1_000)
    parts = source.partitions(20)
    assert max(part.n_rows for part in parts) <= 50
    assert sum(part.n_rows for part in parts) == source.n_rows
    assert [part.first for part in parts] == np.cumsum([0, *(p.n_rows for p in parts)])[
        :-1
    ].tolist()
    cut = tables.SpreadRows.from_source(source, frame, schema, folds=4, seed=3)
    assert len(cut.pieces) > len(whole.pieces)
    for part in (None, 2):
        for a, b in zip(whole.make_arrays(part), cut.make_arrays(part), strict=True):
            np.testing.assert_array_equal(a.compute(), b.compute())
            assert a.shape == b.shape == b.compute().shape  # as it was said before any was read


def test_the_sample_is_drawn_from_all_files_and_knows_where_its_rows_stand(at, here):
    source = tables.open_partitions(at / "sales")
    sample = source.sample(200, seed=1)
    rows = pl.read_parquet(at / "all.parquet")[sample.positions]
    assert sample.frame.equals(rows)
    assert sample.n_rows == 938
    assert (np.diff(sample.positions) > 0).all()


def test_scores_are_of_models_that_learned_from_all_rows_outside_a_part(at, here):
    source = tables.open_partitions(at / "sales")
    sample = source.sample(300, seed=5)
    schema = tables.infer(sample.frame, "price", drop=["kind"])
    rows = tables.SpreadRows.from_source(source, sample.frame, schema, folds=3, seed=5)
    models = comparison.candidates("regression", 938, 3, names=["ridge"], on_dask=True)
    found = comparison.compare_on_dask(
        rows, sample, (*comparison.baselines("regression", on_dask=True), *models)
    )
    everything = pl.read_parquet(at / "all.parquet")
    y, has_target = rows.model.encode_targets(everything)
    X, part = rows.model.encode_inputs(everything), tables.assign_folds(np.arange(938), 3, seed=5)
    held = found.best.held_out
    places = sample.positions[held.rows]
    assert len(held.rows) == int(has_target[sample.positions].sum())
    for k in range(3):
        train = has_target & (part != k)
        expected = posterity.RidgeRegression().fit(X[train], y[train]).predict_dist(X[places])
        inside = part[places] == k
        np.testing.assert_allclose(held.mean[inside], expected.mean()[inside], rtol=1e-8)
        log_prob = expected.log_prob(y[places])[inside]
        np.testing.assert_allclose(held.log_prob[inside], log_prob, rtol=1e-8)
    assert found.n_rows == int(has_target.sum())
    mean = next(one for one in found.results if one.name == "mean")
    constant = comparison.baselines("regression")[0].estimator
    train = has_target & (part != 0)
    expected = constant.fit(X[train], y[train]).predict_dist(X[places])
    inside = part[places] == 0
    log_prob = expected.log_prob(y[places])[inside]
    np.testing.assert_allclose(mean.held_out.log_prob[inside], log_prob, rtol=1e-8)


def test_a_comparison_ranks_reports_and_saves(run, at):
    words = "--target price --drop kind --models linear,ridge --folds 2 --rows 400 --json"
    result = run(f"compare sales {words}")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert {row["name"] for row in answer["models"]} == {"linear", "ridge", "mean"}
    assert answer["n_rows"] == 882
    assert posterity.load(at / "model.posterity").n_rows_ == 882
    assert "scored" in (at / "report.html").read_text()
    assert "--dask tcp://" in answer["command"]


def test_classes_that_the_sample_lacks_are_learned_too(at, here):
    rare = pl.read_parquet("sales/4.parquet").with_columns(
        pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("odd")).otherwise("kind").alias("kind")
    )
    rare.write_parquet("sales/4.parquet")
    source = tables.open_partitions("sales")
    frame = source.sample(None).frame[:500]
    schema = tables.infer(frame, "kind", drop=["price"])
    assert schema.classes == ("big", "small")
    rows = tables.SpreadRows.from_source(source, frame, schema, folds=2)
    assert rows.schema.classes == rows.model.labels_ == ("big", "odd", "small")
    frequencies = comparison.baselines("classification", on_dask=True)[0].estimator
    model = rows.fit_estimator(frequencies)
    kinds = pl.concat([pl.read_parquet(f"sales/{n}.parquet") for n in range(5)])["kind"]
    expected = [(kinds == label).mean() for label in ("big", "odd", "small")]
    np.testing.assert_allclose(model.predict_proba(frame[:1])[0], expected)


def test_a_classifier_on_dask_is_the_one_in_memory(at, here):
    source = tables.open_partitions("sales")
    frame = source.sample(None).frame
    schema = tables.infer(frame, "kind", drop=["price"])
    made = posterity.LogisticRegression()
    model = tables.SpreadRows.from_source(source, frame, schema).fit_estimator(made)
    expected = tables.TableModel(made, schema).fit(frame)
    answers = (m.predict_proba(frame) for m in (model, expected))
    np.testing.assert_allclose(*answers, rtol=1e-8, atol=1e-12)


def test_workers_write_the_predictions_of_all_rows(run, at):
    _in_memory("fit all.parquet -t price --model ridge --drop kind")
    result = run("predict model.posterity sales --out answers --quantiles 0.1,0.9")
    assert result.exit_code == 0, result.output
    assert "Wrote 938 rows with predictions to 4 files in answers" in _told(result)
    assert sorted(p.name for p in (at / "answers").iterdir()) == [
        f"part-0000{n}.parquet" for n in range(4)
    ]
    _in_memory("predict model.posterity all.parquet --out all.pq --quantiles 0.1,0.9")
    found, expected = pl.read_parquet(at / "answers"), pl.read_parquet(at / "all.pq")
    assert found.columns == expected.columns
    assert found.select("size", "town", "sold").equals(expected.select("size", "town", "sold"))
    assert found["price_unusual"].equals(expected["price_unusual"])
    new = [name for name in expected.columns if name.startswith(("price_m", "price_s", "price_q"))]
    np.testing.assert_allclose(
        found.select(new).to_numpy(), expected.select(new).to_numpy(), rtol=1e-12
    )


def test_a_folder_with_other_files_is_left_alone(at, here):
    model = _saved(at)
    source = tables.open_partitions("sales")
    (at / "answers").mkdir()
    (at / "answers" / "notes.txt").write_text("mine")
    (at / "answers" / "part-00009.parquet").write_text("old")
    line = "predict model.posterity sales --dask local --out answers"
    refused = CliRunner().invoke(app, line.split())
    assert refused.exit_code == 2
    assert "not empty" in _told(refused)
    assert tables.write_predictions("answers", model, source) == (938, 4)
    names = sorted(path.name for path in (at / "answers").iterdir())
    assert names == ["notes.txt", *(f"part-0000{n}.parquet" for n in range(4))]


def test_predictions_that_fail_leave_nothing(at, here):
    model = _saved(at)
    spoilt = pl.read_parquet("sales/3.parquet")
    places = pl.int_range(pl.len())
    spoilt.with_columns(
        pl.when(places == 40).then(float("inf")).otherwise(pl.col("size")).alias("size")
    ).write_parquet("sales/3.parquet")
    source = tables.open_partitions("sales")
    with pytest.raises(tables.TableError, match=r"sales/3.parquet: Row 41, column 'size'"):
        tables.write_predictions("answers", model, source)
    assert not (at / "answers").exists()


def _saved(at):
    frame = pl.read_parquet(at / "all.parquet")
    schema = tables.infer(frame, "price", drop=["kind"])
    model = tables.TableModel(posterity.RidgeRegression(), schema).fit(frame)
    posterity.save(model, at / "model.posterity")
    return model


@pytest.mark.parametrize("looked_at", [True, False])
def test_a_bad_cell_is_named_by_file_and_row(run, at, looked_at):
    spoilt = pl.read_parquet("sales/3.parquet")
    rows = [4, 40, 41, 170]  # those before are without a target: they are counted all the same
    gone = pl.int_range(pl.len()).is_in(rows[:1])
    there = pl.int_range(pl.len()).is_in(rows[1:])
    spoilt.with_columns(
        pl.when(there).then(1e200).otherwise(pl.col("size")).alias("size"),
        pl.when(gone).then(None).otherwise(pl.col("price")).alias("price"),
    ).write_parquet("sales/3.parquet")
    rows = "all" if looked_at else "12 --seed 4"
    result = run(f"fit sales --target price --model ridge --keep size --rows {rows}")
    assert result.exit_code == 3, result.output
    assert "sales/3.parquet: Row 41, column 'size': " in _told(result)


def test_models_that_need_all_rows_in_memory_are_refused_with_those_that_do_not(run, at):
    result = run("fit sales --target price --model vectors")
    assert result.exit_code == 2
    assert "The model 'vectors' needs all rows in memory" in _told(result)
    for name in ("linear", "ridge", "sparse"):
        assert name in _told(result)
    assert not (at / "model.posterity").exists()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("fit - --target price --dask local", "Parquet"),
        ("fit sales --target price --separator ; --dask local", "Parquet"),
        ("fit sales.csv --target price --dask local", "save the table as Parquet"),
        ("predict model.posterity sales --dask local", "--out FOLDER"),
        ("predict model.posterity sales --out sales --dask local", "is inside the input folder"),
        (
            "predict model.posterity sales --out sales/new --dask local",
            "is inside the input folder",
        ),
        ("predict model.posterity sales --out all.parquet --dask local", "needs an output folder"),
    ],
)
def test_a_wrong_use_is_told_before_a_cluster_is_started(at, line, sentence):
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 2, result.output
    assert sentence in _told(result)


def test_without_dask_it_says_what_to_install(at, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = CliRunner().invoke(app, ["fit", "sales", "--target", "price", "--dask", "local"])
    assert result.exit_code == 2
    assert "pip install 'posterity[dask]'" in _told(result)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere"])
def test_an_address_where_nobody_answers_is_told_and_the_client_is_closed(at, monkeypatch, address):
    distributed = pytest.importorskip("distributed")
    made = []
    start = distributed.Client.start
    monkeypatch.setattr(
        distributed.Client, "start", lambda self, **more: (made.append(self), start(self, **more))
    )
    monkeypatch.setattr(clusters, "_PATIENCE", 0.2)
    result = CliRunner().invoke(app, f"fit sales -t price --dask {address}".split())
    assert result.exit_code == 2, result.output
    assert f"{address}: no scheduler answers at this address" in _told(result)
    assert [client.status for client in made] == ["closed"]


def test_a_cluster_without_workers_is_told(at, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(clusters, "_PATIENCE", 1)
    empty = {"n_workers": 0, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**empty) as cluster:
        line = f"fit sales -t price --dask {cluster.scheduler_address}"
        result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 2, result.output
    assert "the scheduler has no workers" in _told(result)


def test_workers_of_other_versions_are_refused_or_told(capsys):
    here = clusters._version_lister()()
    compare, voice = clusters._compare_versions, output.OutputPrinter()
    with pytest.raises(typer.BadParameter, match="posterity is not installed on the Dask worker"):
        compare("tcp://a", here, {**here, "posterity": None}, voice)
    with pytest.raises(typer.BadParameter, match=r"has dask 1\.0, but this machine has"):
        compare("tcp://a", here, {**here, "dask": "1.0"}, voice)
    compare("tcp://a", here, here, voice)
    assert capsys.readouterr().out == ""
    compare("tcp://a", here, {**here, "polars": "0.1"}, voice)
    assert "polars 0.1 instead of" in capsys.readouterr().out


def test_the_question_for_versions_needs_no_posterity_where_it_is_asked(tmp_path):
    place = tmp_path / "question"
    place.write_bytes(cloudpickle.dumps(clusters._version_lister()))
    code = (
        "import pickle, sys; sys.modules['posterity'] = None; "
        f"print(pickle.load(open({str(place)!r}, 'rb'))()['python'])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.startswith("3.")


def test_files_of_other_columns_are_named(at):
    pl.read_parquet("sales/1.parquet").drop("town").write_parquet("sales/1.parquet")
    with pytest.raises(tables.TableError, match=r"sales/1.parquet has no column 'town'"):
        tables.open_partitions("sales")
    changed = pl.read_parquet("sales/0.parquet").with_columns(pl.lit("x").alias("size"))
    changed.write_parquet("sales/1.parquet")
    with pytest.raises(tables.TableError, match=r"'size' is Float64 in .* but String in .*1.parq"):
        tables.open_partitions("sales")
    whole = pl.read_parquet("sales/0.parquet").with_columns(
        pl.col("size").fill_null(0.0).cast(pl.Int64), pl.lit(None).alias("town")
    )
    whole.write_parquet("sales/1.parquet")
    assert tables.open_partitions("sales").n_rows == 300 + 300 + 441 + 77
    with pytest.raises(tables.TableError, match="There is no file nothing"):
        tables.open_partitions("nothing")
    pathlib.Path("empty").mkdir()
    with pytest.raises(tables.TableError, match="no Parquet files in empty"):
        tables.open_partitions("empty")


def test_columns_of_some_files_and_of_folders_are_told(at):
    pathlib.Path("sales/year=2024").mkdir()
    more = pl.read_parquet("sales/0.parquet").with_columns(pl.lit(1).alias("extra"))
    more.write_parquet("sales/year=2024/5.parquet")
    first, second = tables.open_partitions("sales").notes
    assert "not in all files are excluded: 'extra'" in first
    assert "'year=2024'" in second


def test_parts_are_dealt_by_place_alone_and_evenly():
    places = np.arange(30_000)
    part = tables.assign_folds(places, 5, seed=1)
    counts = np.bincount(part, minlength=5)
    assert np.abs(counts - 6_000).max() < 300  # four standard deviations
    np.testing.assert_array_equal(tables.assign_folds(places[10_000:], 5, seed=1), part[10_000:])
    same = (part == tables.assign_folds(places, 5, seed=2)).mean()
    assert abs(same - 0.2) < 0.02
    assert abs((part[1:] == part[:-1]).mean() - 0.2) < 0.02


def test_a_file_that_only_we_can_see_is_told():
    lost = partitioned.Partition("/nowhere/a.parquet", "a.parquet", 10, 5, 20)
    with pytest.raises(tables.TableError, match=r"A worker found no file /nowhere/a\.parquet"):
        lost.read(["x"])
    again = pickle.loads(pickle.dumps(lost.locate_error(tables.CellError(2, "x", "it is bad."))))
    assert str(again) == "a.parquet: Row 12, column 'x': it is bad."


ON_DASK = [member for member in comparison.family() if member.on_dask]


@pytest.mark.parametrize("member", ON_DASK, ids=lambda member: f"{member.task}-{member.name}")
def test_what_is_offered_on_dask_leaves_the_rows_there(member, here, monkeypatch):
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    counts = rng.poisson(np.exp(0.5 * X[:, 0]))
    classes = (counts > 0).astype(int)
    scale = counts if member.name == "poisson" else counts + rng.normal(size=120)
    y = scale if member.task == "regression" else classes
    spread = da.from_array(X, chunks=((50, 70), 2)), da.from_array(y, chunks=((50, 70),))

    def refuse(*_, **__):
        raise AssertionError("the rows were brought together")

    monkeypatch.setattr(da.Array, "__array__", refuse)
    monkeypatch.setattr(da.Array, "compute", refuse)
    model = member.make(Size(120, 2, spread=True)).fit(*spread)
    assert np.isfinite(model.predict(X)).all()


def test_the_usual_models_on_dask_are_those_that_take_many_rows():
    names = [
        [one.name for one in comparison.candidates(task, 10**9, 5, on_dask=True)]
        for task in ("regression", "classification")
    ]
    usual = ["linear", "sparse", "additive", "sparse-quadratic", "poisson", "forest"]
    assert names == [usual, ["linear", "sparse", "forest"]]
    every = comparison.candidates("regression", 10**9, 5, names=("all",), on_dask=True)
    assert "ridge" in {one.name for one in every}
    assert "vectors" not in {one.name for one in every}


@pytest.mark.full
def test_workers_started_here_are_gone_at_the_end(at):
    others = set(multiprocessing.active_children())
    line = "fit sales -t price --drop kind --dask local"
    result = CliRunner().invoke(app, line.split(" "))
    assert result.exit_code == 0, result.output
    assert "on this machine" in _told(result)
    assert posterity.load(at / "model.posterity").n_rows_ == 882
    assert set(multiprocessing.active_children()) <= others
