"""The examples of a page, and what they define."""

import ast
import doctest
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

_EXAMPLE = re.compile(r"^```pycon\n(.*?)^```", re.M | re.S)
_DEFINITIONS = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef)


def read_examples(page: Path) -> doctest.DocTest | None:
    """Every example of a page, one after another; None where there is none."""
    text = "\n".join(_EXAMPLE.findall(page.read_text("utf-8")))
    parser = doctest.DocTestParser()
    return parser.get_doctest(text, {}, page.stem, str(page), 0) if text else None


def define_parts(page: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of the imports, classes and functions of a page, without other examples."""
    module = ModuleType(page.stem)
    monkeypatch.setitem(sys.modules, page.stem, module)
    for example in read_examples(page).examples:
        if isinstance(ast.parse(example.source).body[0], _DEFINITIONS):
            exec(compile(example.source, str(page), "exec"), vars(module))
    return module
