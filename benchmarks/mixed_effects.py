"""Variance components of a field trial: a process with a kernel for each group, and ``MixedLM``.

Yields of ten varieties of barley at six sites in two years, 120 rows, which come with the package
vega_datasets. Random intercepts of sites, crossed intercepts of sites and varieties, and
intercepts and slopes of sites, each fitted by both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from benchmarks import machine, report
from benchmarks.cases import Array
from benchmarks.options import Options
from posterity import GaussianProcessRegressor, kernels

# Variances by name, and the predicted intercepts of the sites.
Found: TypeAlias = tuple[Mapping[str, float], Array]

YEAR, SITE, VARIETY = range(3)
SITES, VARIETIES, SLOPES, RESIDUAL = (
    *("site_variance", "variety_variance"),
    *("slope_variance", "residual_variance"),
)
HEADINGS = {
    SITES: "variance of sites",
    VARIETIES: "of varieties",
    SLOPES: "of slopes",
    RESIDUAL: "residual",
    "intercept_difference": "largest difference of an intercept",
    "fit_cpu_s": "CPU s",
}
NOTE = (
    "Variances in the square of the unit, bushels an acre. posterity learns them by the evidence, "
    "with a normal prior for the effect of the year; MixedLM by restricted maximum likelihood. "
    "Slopes are of the year, coded -1/2 and 1/2, and uncorrelated with intercepts in both. The "
    "difference is between the predicted intercepts of the six sites."
)


def load_trial() -> pd.DataFrame:
    """The rows, with the year as a difference and numbers for groups."""
    from vega_datasets import data

    trial = pd.read_json(data.barley.filepath).rename(columns={"yield": "harvest"})
    codes = {name: pd.factorize(trial[name], sort=True)[0] for name in ("site", "variety")}
    return trial.assign(late=(trial["year"] == 1932) - 0.5, one=1, **codes)


def each_group(column: int) -> kernels.Kernel:
    """One for rows of the same group, and nothing for others."""
    return kernels.Columns(kernels.Categorical(0.03).fixed(), column)


def fit_process(trial: pd.DataFrame, kernel: kernels.Kernel, learned: Mapping[str, str]) -> Found:
    """Fit a process; the intercept of a site is its prediction less that of a new site."""
    X = trial[["late", "site", "variety"]].to_numpy(dtype=np.float64)
    model = GaussianProcessRegressor(kernel=kernel).fit(X, trial["harvest"])
    predicted = model.predict([[0.0, site, -1.0] for site in (*range(6), -1)])
    parameters = model.kernel_.get_params()
    variances = {name: float(parameters[place]) for name, place in learned.items()}
    return variances | {RESIDUAL: float(model.noise_variance_)}, predicted[:-1] - predicted[-1]


def _fit_intercepts(trial: pd.DataFrame) -> Found:
    import statsmodels.formula.api as smf

    fit = smf.mixedlm("harvest ~ late", trial, groups="site").fit()
    sites = np.array([fit.random_effects[site].iloc[0] for site in range(6)])
    return {SITES: float(fit.cov_re.iloc[0, 0]), RESIDUAL: float(fit.scale)}, sites


def _fit_crossed(trial: pd.DataFrame) -> Found:
    import statsmodels.formula.api as smf

    parts = {"site": "0 + C(site)", "variety": "0 + C(variety)"}
    fit = smf.mixedlm("harvest ~ late", trial, groups="one", vc_formula=parts, re_formula="0").fit()
    effects = fit.random_effects[1]
    sites = np.array([effects[f"site[C(site)[{site}]]"] for site in range(6)])
    site, variety = fit.vcomp
    return {SITES: float(site), VARIETIES: float(variety), RESIDUAL: float(fit.scale)}, sites


def _fit_slopes(trial: pd.DataFrame) -> Found:
    import statsmodels.formula.api as smf
    from statsmodels.regression.mixed_linear_model import MixedLMParams

    apart = MixedLMParams.from_components(fe_params=np.ones(2), cov_re=np.eye(2))
    model = smf.mixedlm("harvest ~ late", trial, groups="site", re_formula="~late")
    fit = model.fit(free=apart)
    sites = np.array([fit.random_effects[site].iloc[0] for site in range(6)])
    variances = np.diag(fit.cov_re)
    found = {SITES: variances[0], SLOPES: variances[1], RESIDUAL: fit.scale}
    return {name: float(value) for name, value in found.items()}, sites


@dataclass(frozen=True)
class Design:
    """Random effects, as a kernel and where it has their variances, and as ``MixedLM`` says it."""

    name: str
    kernel: kernels.Kernel
    learned: Mapping[str, str]
    fit_mixed: Callable[[pd.DataFrame], Found]


_LINE = kernels.Columns(kernels.Linear(), YEAR)
_OF_SITES = _LINE + kernels.Scaled(each_group(SITE))
DESIGNS = (
    Design("intercepts of sites", _OF_SITES, {SITES: "right__variance"}, _fit_intercepts),
    Design(
        "intercepts of sites and of varieties, crossed",
        _OF_SITES + kernels.Scaled(each_group(VARIETY)),
        {SITES: "left__right__variance", VARIETIES: "right__variance"},
        _fit_crossed,
    ),
    Design(
        "intercepts and slopes of sites",
        _OF_SITES + each_group(SITE) * _LINE,
        {SITES: "left__right__variance", SLOPES: "right__right__kernel__variance"},
        _fit_slopes,
    ),
)


def measure(design: Design, trial: pd.DataFrame) -> Iterable[dict[str, Any]]:
    """What both find of one design."""
    fits = {
        "posterity GaussianProcessRegressor": lambda: fit_process(
            trial, design.kernel, design.learned
        ),
        "statsmodels MixedLM": lambda: design.fit_mixed(trial),
    }
    first = None
    for name, fit in fits.items():
        fit()
        before = time.process_time()
        variances, sites = fit()
        run = {"contender": name, "fit_cpu_s": time.process_time() - before, **variances}
        if first is not None:
            run["intercept_difference"] = float(np.abs(sites - first).max())
        first = sites
        yield run


def run(options: Options) -> None:
    """Fit all designs by both and write the tables."""
    trial = load_trial()
    result = {
        "benchmark": "mixed_effects",
        "title": "Variance components of a field trial",
        **machine.describe(),
        "note": NOTE,
        "tasks": [
            {"name": design.name, "runs": list(measure(design, trial))} for design in DESIGNS
        ],
    }
    report.publish(result, _page(result), options)


def _page(result: dict[str, Any]) -> str:
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE, ""]
    for task in result["tasks"]:
        body = [
            [run["contender"], *(report.number(run.get(key)) for key in HEADINGS)]
            for run in task["runs"]
        ]
        lines += [f"## {task['name']}", "", *report.table(["", *HEADINGS.values()], body), ""]
    return "\n".join(lines)
