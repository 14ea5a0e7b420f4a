"""What is written from the cards of the estimators: run ``make family`` after adding one.

The rooms' ``__all__`` say which estimators are public, and the ``card`` of each class says what it
is made of. From these come ``src/posterity/estimators.py``, which the front door and the model
files read, the stub of the front door, what ``posterity models`` prints and the lists of
``docs/api.md``. As an extension of Sphinx it puts the tables of models where a page says
``{models}``.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import posterity
from posterity import comparison, latent, linear, local, process, sparse, trees, vision

ROOT = Path(__file__).parents[2]
ROOMS = {
    "latent": latent,
    "linear": linear,
    "local": local,
    "process": process,
    "sparse": sparse,
    "trees": trees,
}
GROUPS = {
    "regression": "Linear regression",
    "likelihoods": "Outliers, positive amounts and counts",
    "gaussian_processes": "Gaussian processes",
    "kernels": "Kernels",
    "classification": "Classification",
    "sparse": "Sparse models and relevance vectors",
    "trees": "Trees, forests and boosting",
    "latent": "Latent spaces",
}
_HEADS = ("model", "likelihood", "prior", "feature space", "inference", "use it for")
_BEGIN, _END = "<!-- estimators: begin -->", "<!-- estimators: end -->"


def estimators() -> Iterator[tuple[str, Any]]:
    """The public estimators, with the room of each, by name."""
    for room, module in ROOMS.items():
        for name in sorted(module.__all__):
            if hasattr(getattr(module, name), "card"):
                yield room, getattr(module, name)


def members(page: str) -> list[Any]:
    """The estimators that a page of the documentation describes."""
    return [cls for _, cls in estimators() if cls.card.page == page]


def names_module() -> str:
    """The text of ``src/posterity/estimators.py``."""
    rooms = {room: [c.__name__ for r, c in estimators() if r == room] for room in ROOMS}
    body = "".join(
        f'    "{room}": (\n' + "".join(f'        "{name}",\n' for name in names) + "    ),\n"
        for room, names in rooms.items()
    )
    return (
        '"""The public estimators, by the room that holds them. Written by ``make family``."""\n\n'
        f"BY_ROOM = {{\n{body}}}\n"
    )


_SAID = (
    *("name", "task", "estimator", "likelihood", "prior", "feature_space", "inference"),
    *("cost", "advice", "on_dask"),
)


def compared_models() -> str:
    """The text of ``src/posterity/cli/models.json``: listing models imports none of them."""
    said = [{word: getattr(member, word) for word in _SAID} for member in comparison.family()]
    return json.dumps(said, indent=1) + "\n"


_FUNCTIONS = ("compare", "load", "predict_dist", "save")


def stub() -> str:
    """The text of ``src/posterity/__init__.pyi``, in the order that ruff wants."""
    rooms = [name for name in posterity.__all__ if name.islower() and name not in _FUNCTIONS]
    names = {room: [c.__name__ for r, c in estimators() if r == room] for room in ROOMS}
    places = {
        "": rooms,
        ".analysis": ["compare"],
        ".models": ["predict_dist"],
        ".persistence": ["load", "save"],
    }
    places |= {f".{room}": found for room, found in names.items()}
    listed = _block('"{}"', [name for found in places.values() for name in found])
    imports = "".join(
        f"from posterity{at} import ({_block('{}', places[at])})\n" for at in sorted(places)
    )
    doc = "The names of the front door, as a type checker reads them. Written by ``make family``."
    return f'"""{doc}"""\n\n{imports}\n__all__ = [{listed}]\n\n__version__: str\n'


def _block(form: str, names: list[str]) -> str:
    ordered = sorted(names, key=lambda name: (name.islower(), not name.isupper(), name))
    return "\n" + "".join(f"    {form.format(name)},\n" for name in ordered)


def family_tables() -> str:
    """The tables of models, as Markdown."""
    return "\n".join(_table(page, title) for page, title in GROUPS.items())


def _table(page: str, title: str) -> str:
    rows = [_HEADS, ("---",) * len(_HEADS), *map(_row, members(page))]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"\n**{title}** ([page]({page}.md))\n\n{lines}\n"


def _row(cls: Any) -> tuple[str, ...]:
    card = cls.card
    parts = (card.likelihood, card.prior, card.feature_space, card.inference, card.advice)
    return (f"`{cls.__name__}`", *parts)


def vision_table() -> str:
    """The table of ``docs/vision.md``: what its systems are made of."""
    systems = (getattr(vision, name) for name in vision.__all__)
    rows = [_HEADS, ("---",) * len(_HEADS)]
    rows += [_row(cls) for cls in systems if hasattr(cls, "card")]
    return "\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def api_lists() -> str:
    """The lists of estimators in ``docs/api.md``."""
    return "\n".join(_api_list(page, title) for page, title in GROUPS.items())


def _api_list(page: str, title: str) -> str:
    names = "\n".join(f"   ~posterity.{cls.__name__}" for cls in members(page))
    listing = f".. autosummary::\n   :nosignatures:\n\n{names}"
    return f"\n**{title}** ([page]({page}.md))\n\n```{{eval-rst}}\n{listing}\n```\n"


def between(text: str, written: str) -> str:
    """The text of a page with what is written between its two marks."""
    before, _, rest = text.partition(_BEGIN)
    after = rest.partition(_END)[2]
    return f"{before}{_BEGIN}\n{written}\n{_END}{after}"


def texts() -> dict[Path, str]:
    """Every file that is written from the cards, and what it should say."""
    api, images = (ROOT / "docs" / f"{name}.md" for name in ("api", "vision"))
    return {
        ROOT / "src" / "posterity" / "estimators.py": names_module(),
        ROOT / "src" / "posterity" / "__init__.pyi": stub(),
        ROOT / "src" / "posterity" / "cli" / "models.json": compared_models(),
        api: between(api.read_text("utf-8"), api_lists()),
        images: between(images.read_text("utf-8"), vision_table()),
    }


def setup(app: Any) -> dict[str, bool]:
    """Offer the directive, with Sphinx imported only where a site is built."""
    from sphinx.util.docutils import SphinxDirective

    class ModelsDirective(SphinxDirective):
        """Tables of all estimators, by page."""

        def run(self) -> list[Any]:
            nodes: list[Any] = self.parse_text_to_nodes(family_tables())
            return nodes

    app.add_directive("models", ModelsDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text, "utf-8")
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
