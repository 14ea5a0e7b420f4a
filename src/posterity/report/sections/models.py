"""Section that says what each compared model is, to which the names of models link."""

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

from posterity import comparison
from posterity.report.contents import ReportContents, ReportData
from posterity.report.sections.blocks import Card, Cards, Section

_BASELINES = {
    "mean": "the same distribution for every row, around the mean of the targets",
    "frequencies": "the class frequencies for every row",
    "sklearn-linear": "scikit-learn's linear regression with normal noise",
    "sklearn-logistic": "scikit-learn's logistic regression",
    "sklearn-boosting": "scikit-learn's gradient boosting",
}
_OPTION = r"--prefer (?:best|simple)"
_MIXTURE = "the mixture of the best models, with weights that maximise the log score"


def section(data: ReportData) -> Section | None:
    """Show a card for each model of the comparison; None if there is none."""
    cards = tuple(_list_cards(data.contents))
    if not cards:
        return None
    lead = "What each model assumes, how it is fitted, and when to use it."
    return Section("models", "The models", lead, (Cards(cards),))


def find_links(contents: ReportContents) -> dict[str, str]:
    """Return the name of the element that describes each model of the comparison."""
    found = contents.comparison
    if found is None:
        return {}
    names = [*(one.name for one in found.results), *(one.name for one in found.skipped)]
    return {name: f"model-{k}" for k, name in enumerate(dict.fromkeys(names))}


def link_name(name: str, links: dict[str, str]) -> str:
    """Return the name of a model as a link to its card, if it has one."""
    if name not in links:
        return name
    return Markup('<a href="#{}">{}</a>').format(links[name], name)


def link_quoted_names(text: str, links: dict[str, str]) -> str:
    """Turn quoted names of models in a sentence into links, and mark an option as code.

    Examples
    --------
    >>> from posterity.report.sections import models
    >>> print(models.link_quoted_names("Use 'linear'.", {"linear": "model-0"}))
    Use <a href="#model-0">linear</a>.
    """
    quoted = {repr(name): name for name in links}
    names = [re.escape(word) for word in sorted(quoted, key=len, reverse=True)]
    pieces = re.split(f"({'|'.join([_OPTION, *names])})", text)
    return Markup().join(
        link_name(quoted[piece], links)
        if piece in quoted
        else Markup("<code>{}</code>").format(piece)
        if re.fullmatch(_OPTION, piece)
        else escape(piece)
        for piece in pieces
    )


def _list_cards(contents: ReportContents) -> Iterator[Card]:
    found = contents.comparison
    if found is None:
        return
    members = {one.name: one for one in comparison.family(contents.schema.task)}
    codes = {one.name: one.code for one in found.results}
    mixtures = {one.name: one.weights for one in found.results}
    for name, place in find_links(contents).items():
        code = (("Python", codes[name]),) if name in codes else ()
        if parts := mixtures.get(name):
            shares = " + ".join(f"{share:.2f} {part}" for part, share in parts)
            yield Card(place, name, _MIXTURE, (("Weights", shares),))
            continue
        member = members.get(name)
        if member is None or member.estimator not in codes.get(name, member.estimator):
            yield Card(place, name, _BASELINES.get(name, ""), code)
            continue
        facts = (
            ("Likelihood", member.likelihood),
            ("Prior", member.prior),
            ("Features", member.feature_space),
            ("Inference", member.inference),
            ("Cost of a fit", member.cost),
            *(code or (("Python", member.estimator),)),
        )
        yield Card(place, name, member.advice, facts)
