"""``posterity demo``: compare models on a table that comes with the package."""

from pathlib import Path

import polars as pl
import typer
from sklearn import datasets

from posterity import files
from posterity.cli import compare
from posterity.cli.app import CompareRequest, DemoRequest
from posterity.cli.output import OutputPrinter

_BLOOD = {
    "bp": "blood_pressure",
    "s1": "cholesterol",
    "s2": "low_density_lipoprotein",
    "s3": "high_density_lipoprotein",
    "s4": "cholesterol_ratio",
    "s5": "log_triglycerides",
    "s6": "glucose",
}


def load_patients() -> tuple[pl.DataFrame, str]:
    """Return 442 patients with ten measurements and their diabetes progression after a year."""
    bunch = datasets.load_diabetes(scaled=False)
    names = [_BLOOD.get(name, name) for name in bunch.feature_names]
    columns = dict(zip(names, bunch.data.T, strict=True))
    return pl.DataFrame({**columns, "progression": bunch.target}), "progression"


def load_biopsies() -> tuple[pl.DataFrame, str]:
    """Return 569 biopsies with ten measurements of their cell nuclei and the diagnosis."""
    bunch = datasets.load_breast_cancer()
    names = [name.removeprefix("mean ").replace(" ", "_") for name in bunch.feature_names[:10]]
    columns = dict(zip(names, bunch.data.T[:10], strict=True))
    return pl.DataFrame({**columns, "diagnosis": bunch.target_names[bunch.target]}), "diagnosis"


TABLES = {"regression": load_patients, "classification": load_biopsies}


def run(request: DemoRequest, printer: OutputPrinter) -> None:
    """Write the example table to a folder and compare models on it."""
    place = Path(request.folder)
    _make_folder(place)
    frame, target = TABLES[request.task]()
    path = place / f"{request.task}.csv"
    with files.replace_atomically(path) as file:
        frame.write_csv(file)
    comparison = CompareRequest(
        data=str(path),
        target=target,
        rows=None,
        budget=request.budget,
        folds=request.folds,
        seed=request.seed,
        report=str(place / "report.html"),
        save=str(place / "model.posterity"),
        force=True,
    )
    compare.run(comparison, printer)


def _make_folder(place: Path) -> None:
    """Create the folder; refuse if a file has its name."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise typer.BadParameter(
            f"{str(place)!r} is a file; choose another folder with --folder."
        ) from None
