"""The table of inducing points has a row for each fit, and counts bounds that more points lower."""

from benchmarks import inducing_points
from benchmarks.options import Options


def test_a_run_has_a_row_for_each_fit(tmp_path, monkeypatch):
    monkeypatch.setattr(inducing_points, "COLUMNS", (2,))
    monkeypatch.setattr(inducing_points, "NOISES", (1e-3,))
    monkeypatch.setattr(inducing_points, "REHEARSAL_ROWS", 100)
    monkeypatch.setattr(inducing_points, "REHEARSAL_POINTS", (10, 20))
    result = inducing_points.run(Options(quick=True, folder=tmp_path))
    few, many = result["tasks"][0]["runs"]
    assert few["bound"] < many["bound"]
    assert few["learned_noise"] > many["learned_noise"] > 5e-4
    assert result["losses"] == 0
    written = (tmp_path / "inducing_points.md").read_text()
    assert "| 2, 0.001 | 10 | 10 |" in written


def test_a_lower_bound_of_more_points_is_a_loss():
    fits = [{"points": 10, "bound": 5.0}, {"points": 20, "bound": -5.0}]
    assert inducing_points.count_losses(fits) == 1
    assert inducing_points.count_losses(fits[::-1]) == 0
