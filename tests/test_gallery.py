"""Every figure of the gallery draws without a warning, can be read, and stands where it should."""

import runpy
import warnings
from pathlib import Path

import gallery_checks
import matplotlib.pyplot as plt
import pytest
from gallery import _catalogue, _drawing, _pictures
from matplotlib.figure import Figure
from PIL import Image
from support.for_each import for_each

DOCS = Path(__file__).parents[1] / "docs"
SCRIPTS = _catalogue.scripts()
REGRESSION = {"8.2", *(f"8.{k}" for k in range(4, 12)), "8.13"}
CLASSIFICATION = {f"9.{k}" for k in (2, 3, 4, *range(6, 26))}
OTHERS = {"report.png", "choosing.svg"}  # figures that no script of the gallery draws

DRAWS = '''"""A line.  [X Fig 1.2]

Straight, since nothing bends it.
"""

import matplotlib.pyplot as plt
from pathlib import Path

figure, ax = plt.subplots()
ax.plot([0, 1], [0, 1])
Path(__file__).with_name("out").mkdir(exist_ok=True)
figure.savefig(Path(__file__).with_name("out") / "line.png")
'''


@pytest.fixture(autouse=True)
def _headless():
    before = plt.get_backend()
    plt.switch_backend("Agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


@pytest.fixture
def saved(monkeypatch):
    """Pictures are drawn and not written: what the scripts would have saved, and where."""
    pictures = []

    def draw(figure, path, bbox_inches=None):
        figure.canvas.draw()
        cropped = bbox_inches == "tight"
        pictures.append((Path(path), gallery_checks.complaints(figure, cropped=cropped)))

    monkeypatch.setattr(Figure, "savefig", draw)
    return pictures


@pytest.mark.full(but=5)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_draws_one_picture_that_can_be_read(script, saved):
    runpy.run_path(str(script.path), run_name="__main__")
    assert [path for path, _ in saved] == [script.picture]
    assert saved[0][1] == []


def test_every_figure_of_the_sources_is_redrawn():
    redrawn = set().union(*(script.numbers for script in SCRIPTS))
    assert redrawn >= REGRESSION | CLASSIFICATION
    assert {"G", "L"} <= {tag.split()[0] for script in SCRIPTS for tag in script.tags}


def test_every_script_has_a_title_of_its_own():
    titles = [script.title for script in SCRIPTS]
    assert all(titles)
    assert len(set(titles)) == len(titles)


def test_the_page_of_the_gallery_shows_every_script_once():
    listed = _catalogue.list_figures((DOCS / "gallery.md").read_text("utf-8"))
    assert sorted(listed) == [script.name for script in SCRIPTS]


def test_the_documentation_has_the_figures_of_all_scripts_and_no_others():
    figures = {path.name for path in (DOCS / "figures").iterdir()}
    assert figures - OTHERS == {script.figure.name for script in SCRIPTS}


@pytest.fixture
def folder(tmp_path):
    """A gallery of its own, beside which documentation can be."""
    (tmp_path / "gallery").mkdir()
    return tmp_path / "gallery"


def script_of(folder, source):
    path = folder / "line.py"
    path.write_text(source, encoding="utf-8")
    return _catalogue.read(path)


def test_a_script_is_read_from_its_docstring(folder):
    script = script_of(folder, DRAWS)
    assert (script.name, script.title, script.tags) == ("line", "A line", ("X Fig 1.2",))
    assert script.caption == "Straight, since nothing bends it."
    assert script.numbers == {"1.2"}
    assert script.first_line == 6


def test_a_title_may_take_two_lines_and_have_several_tags(folder):
    script = script_of(folder, '"""One\ntwo?  [A Fig 1.2, 1.3] [B 4.5]"""\n\nx = [1.5]\n')
    assert (script.title, script.tags) == ("One two?", ("A Fig 1.2, 1.3", "B 4.5"))
    assert script.numbers == {"1.2", "1.3"}


def test_a_script_without_a_title_is_refused(folder):
    with pytest.raises(ValueError, match=r"line\.py opens without a docstring"):
        script_of(folder, "x = 1\n")


def test_a_drawn_script_leaves_a_picture_and_a_smaller_copy(folder):
    script = script_of(folder, DRAWS)
    _, failure = _drawing.draw(script)
    assert failure == ""
    with Image.open(script.picture) as picture, Image.open(script.figure) as copy:
        assert picture.size == copy.size
        assert copy.mode == "P"
        assert copy.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
    assert script.figure.stat().st_size < script.picture.stat().st_size


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ("import warnings; warnings.warn('odd')", "UserWarning: odd"),
        ("raise RuntimeError('broken')", "RuntimeError: broken"),
        ("(Path(__file__).with_name('out') / 'line.png').unlink()", "left no picture line.png"),
    ],
)
def test_a_script_that_fails_says_how(folder, last, said):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as it is outside of tests
        _, failure = _drawing.draw(script_of(folder, DRAWS + last + "\n"))
    assert said in failure
    assert "Traceback" in failure


def test_warnings_are_as_they_were_after_a_script(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _drawing.draw(script_of(folder, DRAWS))
        warnings.warn("not an error", stacklevel=1)


@pytest.mark.full
def test_the_sheet_has_a_row_for_pictures_that_do_not_fit(folder, monkeypatch):
    script = script_of(folder, DRAWS)
    _drawing.draw(script)
    monkeypatch.setattr(_pictures, "SHEET", folder / "out" / "sheet.png")
    heights = []
    for copies in (1, 2, 30):
        _pictures.contact_sheet([script] * copies)
        with Image.open(_pictures.SHEET) as sheet:
            heights.append(sheet.height)
            assert sheet.width == _pictures.WIDTH
    assert heights[0] == heights[1] < heights[2]


@pytest.mark.full
@for_each(
    ("spoil", "said"),
    [
        (lambda figure, ax: figure.set_figwidth(14.0), "inches wide"),
        (lambda figure, ax: ax.set_xlabel(""), "x-axis of panel 0"),
        (lambda figure, ax: ax.set_ylabel(""), "y-axis of panel 0"),
        (lambda figure, ax: figure.text(0.9, 0.5, "far too long to be here"), "right edge"),
        (lambda figure, ax: figure.text(-0.2, 0.5, "far"), "left edge"),
        (lambda figure, ax: ax.set_title("x" * 60, loc="left"), "overlap"),
        (lambda figure, ax: ax.text(0.5, 0.5, "tiny", fontsize=3), "pixels high"),
        (lambda figure, ax: ax.plot([0, 1], [1, 0], color="red"), "#ff0000"),
        (lambda figure, ax: ax.scatter([0, 1], [1, 0], color="lime"), "#00ff00"),
        (lambda figure, ax: ax.imshow([[0.0, 1.0]], cmap="jet"), "'jet'"),
    ],
)
def test_a_picture_that_cannot_be_read_is_named(spoil, said):
    figure, (ax, beside) = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="none")
    for axes in (ax, beside):
        axes.set(xlabel="x")
        axes.plot([0, 1], [0, 1], color="black")
    ax.set_ylabel("y")
    beside.set_title("beside", loc="left")
    figure.canvas.draw()
    assert gallery_checks.complaints(figure) == []
    spoil(figure, ax)
    figure.canvas.draw()
    assert any(said in sentence for sentence in gallery_checks.complaints(figure))
