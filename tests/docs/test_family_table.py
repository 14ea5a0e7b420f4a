"""What is written from the cards of the estimators is what the cards say."""

import importlib.util
import sys
from pathlib import Path

import pytest
from support.for_each import for_each

import posterity

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(Path(__file__).parent))

from test_family_pages import at_home  # noqa: E402


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FAMILY = load(DOCS / "_ext" / "family.py")
CLASSES = [cls for _, cls in FAMILY.estimators()]


@pytest.mark.parametrize("path", FAMILY.texts(), ids=lambda path: path.name)
def test_what_is_written_from_the_cards_is_up_to_date(path):
    assert path.read_text("utf-8") == FAMILY.texts()[path], "Run `make family`."


def test_the_front_door_has_every_estimator_with_a_card():
    public = [getattr(posterity, name) for name in posterity.__all__]
    assert {cls for cls in public if hasattr(cls, "fit")} == set(CLASSES)


@for_each("cls", CLASSES)
def test_a_card_is_complete_and_names_the_page_where_its_estimator_is_at_home(cls):
    assert all(value for name, value in vars(cls.card).items() if name != "candidates")
    assert cls.__name__ in at_home(cls.card.page)
    assert "card" in vars(cls)  # its own, not that of another estimator
