"""What the extensions of the documentation's build make of docstrings, scripts and pages."""

from pathlib import Path
from typing import ClassVar

import pytest
from gallery import _catalogue

nodes = pytest.importorskip("docutils.nodes")  # of the extra 'docs', as Sphinx is
autosummary = pytest.importorskip("sphinx.ext.autosummary")

SCRIPT = '''"""A line.  [P8 Fig 8.2]

It is straight.
"""

from posterity import LinearRegression, displays
from posterity.kernels import RBF as Bell

with displays.style():
    color = displays.COLORS["blue"]
    LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    Bell(1.0)
'''


@pytest.fixture
def extensions(monkeypatch):
    """The modules of docs/_ext, on the path as for Sphinx."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs" / "_ext"))
    import docstrings
    import gallery_pages
    import rooms

    return docstrings, gallery_pages, rooms


def test_absolute_values_are_escaped_outside_literals(extensions):
    assert extensions[0].escape_bars("|w| of ``a | b``") == r"\|w\| of ``a | b``"


def test_what_only_methods_set_is_not_in_a_signature(extensions):
    def shown(signature):
        return extensions[0].without_fields(None, "class", "", None, None, signature, "")

    assert shown("(length_scale=None, *, held=(), limits=())") == ("(length_scale=None)", "")
    assert shown("(*, held=(), limits=())") == ("()", "")
    assert shown("(k, columns, *, held=(), limits=(), positions=None)") == ("(k, columns)", "")
    assert shown("(n_angles=20, *, unit=None)") == ("(n_angles=20)", "")
    assert shown("(X, *, prior=False)") is None


def test_names_of_a_script_are_found_under_whatever_name(extensions):
    assert list(extensions[1].names_used(SCRIPT)) == [
        "posterity.LinearRegression",
        "posterity.displays",
        "posterity.kernels.RBF",
        "posterity.displays.style",
        "posterity.displays.COLORS",
    ]


@pytest.mark.parametrize(
    ("name", "has"),
    [
        ("posterity.LinearRegression", True),
        ("posterity.kernels.RBF", True),
        ("posterity.displays.style", True),
        ("posterity.displays.COLORS", False),
        ("posterity.displays", False),
        ("posterity.nowhere.Thing", False),
        ("posterity.kernels.Nothing", False),
    ],
)
def test_only_classes_and_functions_have_a_page(extensions, name, has):
    assert extensions[1].has_a_page(name) == has


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "line.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return _catalogue.read(path)


def test_a_page_has_title_tags_picture_caption_links_and_code(extensions, script):
    text = extensions[1].page(script)
    assert "\n# A line\n\n[P8 Fig 8.2]\n" in text
    assert "../../figures/line.png" in text
    assert "\nIt is straight.\n" in text
    assert "Uses {py:obj}`LinearRegression <posterity.LinearRegression>`, " in text
    assert "{py:obj}`kernels.RBF <posterity.kernels.RBF>`" in text
    assert "COLORS" not in text
    assert ":lines: 6-\n" in text


class App:
    """Of Sphinx, what the extension asks for."""

    def __init__(self, srcdir):
        self.srcdir = srcdir


def test_pages_are_written_once_and_those_without_a_script_go(
    extensions, script, tmp_path, monkeypatch
):
    monkeypatch.setattr(_catalogue, "scripts", lambda: [script])
    folder = tmp_path / "_build" / "gallery"
    folder.mkdir(parents=True)
    (folder / "gone.md").touch()
    extensions[1].write_pages(App(tmp_path))
    assert [path.name for path in folder.iterdir()] == ["line.md"]
    written = (folder / "line.md").stat().st_mtime_ns
    extensions[1].write_pages(App(tmp_path))
    assert (folder / "line.md").stat().st_mtime_ns == written


class Env:
    """The titles of a build."""

    titles: ClassVar = {f"_build/gallery/{name}": nodes.title("", name.upper()) for name in "abc"}


@pytest.mark.parametrize(
    ("docname", "before", "after"),
    [
        ("_build/gallery/a", None, "B"),
        ("_build/gallery/b", "A", "C"),
        ("_build/gallery/c", "B", None),
        ("_build/gallery/unlisted", None, None),
        ("sparse", None, None),
    ],
)
def test_a_script_has_its_neighbours_on_the_page(extensions, tmp_path, docname, before, after):
    (tmp_path / "gallery.md").write_text("```{gallery}\na\nb\n```\n\n```{gallery}\nc\n```\n")
    app = App(tmp_path)
    app.env = Env()
    context = {"pathto": lambda name: f"to {name}"}
    extensions[1].neighbours(app, docname, "page.html", context, None)
    for side, title in (("prev", before), ("next", after)):
        assert context.get(side, {}).get("title") == title
        if title:
            assert context[side]["link"] == f"to _build/gallery/{title.lower()}"


def test_pages_outside_the_contents_share_one_navigation_a_folder(extensions):
    navigation = extensions[2].Navigation()
    asked = []

    def shown(docname, meta):
        context = {"meta": meta, "toctree": lambda **options: asked.append(docname) or docname}
        navigation.share(None, docname, "page.html", context, None)
        return context["toctree"](maxdepth=-1)

    orphan = {"orphan": ""}
    assert shown("folder/a", orphan) == shown("folder/b", orphan) == "folder/a"
    assert shown("other/c", orphan) == "other/c"
    assert shown("folder/listed", {}) == "folder/listed"
    assert shown("folder/search", None) == "folder/search"
    assert asked == ["folder/a", "other/c", "folder/listed", "folder/search"]


@pytest.mark.parametrize(("docname", "kept"), [("_build/stubs/posterity.kernels", 0), ("api", 1)])
def test_members_stand_in_no_table_of_contents_and_rooms_do(extensions, docname, kept):
    doctree = nodes.section("", nodes.paragraph(), autosummary.autosummary_toc())
    app = App(None)
    app.env = Env()
    app.env.docname = docname
    extensions[2].leave_out_members(app, doctree)
    assert len(list(doctree.findall(autosummary.autosummary_toc))) == kept
    assert len(list(doctree.findall(nodes.paragraph))) == 1


def test_inventories_of_other_projects_are_written_without_a_network(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs" / "_ext"))
    inventory = pytest.importorskip("sphinx.util.inventory")
    import inventories

    monkeypatch.setattr(inventories, "WRITTEN_TO", tmp_path)
    for project, name, kind in [
        ("numpy", "numpy.ndarray", "py:class"),
        ("scipy", "scipy.linalg.solve", "py:function"),
        ("sklearn", "sklearn.gaussian_process.kernels.RBF", "py:class"),
    ]:
        address = inventories.PROJECTS[project][0]
        content = inventories.write_inventory(project).read_bytes()
        pages = inventory.InventoryFile.loads(content, uri=address).data[kind]
        assert pages[name].uri.startswith(address)
        assert pages[name].uri.endswith(f"{name}.html#{name}")
