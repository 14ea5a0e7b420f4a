"""What is told to be typed next can be typed."""

import pytest

from posterity.cli import output


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An environment with the command, from whose parent folder it is called."""
    program = tmp_path / "env/bin/posterity"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    return program


def test_a_command_that_no_shell_finds_is_told_by_its_path(installed):
    assert output.command_name("env/bin/posterity") == "env/bin/posterity"


def test_one_that_a_shell_finds_is_told_by_its_name(installed, monkeypatch):
    monkeypatch.setenv("PATH", str(installed.parent))
    assert output.command_name("env/bin/posterity") == "posterity"
    assert output.command_name(str(installed)) == "posterity"


def test_another_of_that_name_on_the_path_is_not_meant(installed, monkeypatch, tmp_path):
    other = tmp_path / "other/posterity"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert output.command_name("env/bin/posterity") == "env/bin/posterity"


@pytest.mark.parametrize("typed", ["python", "-c", "gone/bin/posterity"])
def test_what_is_no_such_program_has_its_name(installed, typed):
    assert output.command_name(typed) == "posterity"
