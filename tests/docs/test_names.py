"""Names in tables lead to the interface, which lists every estimator; its examples stand alone."""

import ast
import builtins
import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest
from support.for_each import for_each

DOCS = Path(__file__).parents[2] / "docs"
API = (DOCS / "api.md").read_text("utf-8")
ROOMS = re.findall(r"^   (posterity(?:\.[a-z]+)*)$", API.split("## Modules")[1], re.M)


def public():
    """Every class and function with a page, under the name by which users know it."""
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                yield f"{room}.{name}", thing


PUBLIC = dict(public())


@for_each("name", [n for n in PUBLIC if n.count(".") == 1])
def test_the_interface_lists_what_stands_at_the_front_door(name):
    assert f"   ~{name}\n" in API


@for_each("name", PUBLIC)
def test_an_example_uses_only_names_that_it_has_made(name):
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(PUBLIC[name]) or "")
    used, made = set(), set(dir(builtins))
    for node in (node for e in examples for node in ast.walk(ast.parse(e.source))):
        match node:
            case ast.Name(id=word, ctx=ast.Load()):
                used.add(word)
            case ast.Name(id=word) | ast.arg(arg=word):
                made.add(word)
            case ast.ClassDef(name=word) | ast.FunctionDef(name=word):
                made.add(word)
            case ast.alias(name=word, asname=other):
                made.add(other or word)
    assert used <= made


@pytest.fixture
def names(monkeypatch):
    """The extension, on the path as for Sphinx."""
    pytest.importorskip("sphinx")  # of the extra 'docs'
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    import names

    return names


@pytest.mark.parametrize(
    ("code", "heading", "name"),
    [
        ("PCA", "model", "posterity.PCA"),
        ('GPLVM(inference="variational")', "model", "posterity.GPLVM"),
        ("features.Radial(10)", "features", "posterity.features.Radial"),
        ("SparseLinearRegression(", "take", "posterity.SparseLinearRegression"),
        ("posterity.save(model, path)", "method or attribute", "posterity.save"),
        ("RBF", "kernel", "posterity.kernels.RBF"),
        ("RBF", "posterity.kernels", "posterity.kernels.RBF"),
        ("RBF", "model", None),
        ("PCA", "scikit-learn", "sklearn.decomposition.PCA"),
        ("RBF", "sklearn.gaussian_process.kernels", "sklearn.gaussian_process.kernels.RBF"),
        ("GPLVM", "scikit-learn", None),
        ("features=features.Radial(6)", "take", None),
        ("log_evidence_", "method or attribute", None),
    ],
)
def test_code_in_a_table_means_what_its_column_says(names, code, heading, name):
    assert names.meant(code, heading) == name


def test_scripts_and_names_become_references_and_links_stay(names):
    from docutils import nodes

    class App:
        env = type("Env", (), {"docname": "sparse"})

    text = nodes.paragraph("", "", nodes.literal("", "gallery/hero.py"))
    linked = nodes.reference("", "", nodes.literal("", "gallery/hero.py"))
    page = nodes.section("", text, nodes.paragraph("", "", linked))
    names.link_scripts(App(), page)
    assert text[0]["reftarget"] == "/_build/gallery/hero"
    assert text.astext() == "gallery/hero.py"
    assert isinstance(linked[0], nodes.literal)
