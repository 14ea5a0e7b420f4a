"""The first steps are those that exist, and the links of the first pages lead somewhere."""

import re
import shlex
from pathlib import Path

from support.for_each import for_each
from typer.testing import CliRunner

from posterity import cli

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = ("start", "choosing", "scikit_learn")
LINK = re.compile(r"\]\((?!https?:)([\w./]*)(?:#([\w-]+))?\)")


def text(page):
    return (DOCS / page).read_text("utf-8")


def headings(page):
    titles = re.findall(r"^#+ (.*)$", text(page), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def commands():
    blocks = re.findall(r"^```sh\n(.*?)^```", text("start.md"), re.M | re.S)
    return [shlex.split(line) for block in blocks for line in block.splitlines()]


def test_two_commands_lead_to_a_report():
    assert [line[:2] for line in commands()[:2]] == [
        ["posterity", "demo"],
        ["posterity", "compare"],
    ]


def test_every_word_of_make_is_a_target():
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    words = re.findall(r"`make (\w+)`", (ROOT / "README.md").read_text("utf-8"))
    assert {"run", "test"} <= set(words)
    assert set(words) <= set(targets)


@for_each("line", [c for c in commands() if "posterity" in c[0]], ids=" ".join)
def test_every_command_has_the_options_that_it_is_given(line):
    told = CliRunner().invoke(cli.app, [line[1], "--help"], env={"COLUMNS": "200"})
    assert told.exit_code == 0
    assert all(word in told.output for word in line if word.startswith("--"))


def sentences_of_verdict(page):
    """Sentences of the block that shows a verdict, without names of models and numbers."""
    shown = re.search(r"^```text\n(Use '.*?)(?:^```|^ model|\n\n)", page, re.M | re.S)[1]
    plain = re.sub(r"'[\w-]+'", "MODEL", re.sub(r"-?\d+(\.\d+)?", "NUMBER", shown))
    return set(re.split(r"(?<=\.) ", " ".join(plain.split())))


def test_the_verdict_has_the_sentences_of_the_readme_which_are_printed_in_a_test():
    readme = (ROOT / "README.md").read_text("utf-8")
    assert sentences_of_verdict(text("start.md")) == sentences_of_verdict(readme)


def test_the_pages_stay_short_enough_to_be_read():
    """All pages together have fewer than 48,000 words, but for lists that a script writes."""
    lists = re.compile(r"<!-- (\w+): begin -->.*?<!-- \1: end -->", re.S)
    texts = (lists.sub("", page.read_text("utf-8")) for page in DOCS.glob("*.md"))
    assert sum(len(one.split()) for one in texts) < 48_000


@for_each("page", PAGES)
def test_links_lead_to_pages_and_headings(page):
    links = LINK.findall(text(f"{page}.md"))
    assert links
    for target, anchor in links:
        assert not target or (DOCS / target).exists(), target
        assert not anchor or anchor in headings(target or f"{page}.md"), (target, anchor)
