"""Draw the gallery: ``python -m gallery`` for every script, ``python -m gallery hero`` for one.

Each script leaves its picture in gallery/out. Smaller copies for the documentation go to
docs/figures, and gallery/out/contact_sheet.png shows all of them at once.
"""

from __future__ import annotations

import argparse
import os
import sys

from gallery import _catalogue, _drawing, _pictures


def choose_figures(names: list[str]) -> list[_catalogue.Script]:
    """The scripts of these names, or all of them."""
    known = {script.name: script for script in _catalogue.scripts()}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"No script of the gallery is called {', '.join(unknown)}.")
    return [known[name] for name in names or known]


def main(arguments: list[str]) -> int:
    """Draw what is asked for; 1 if a script failed."""
    parser = argparse.ArgumentParser(prog="python -m gallery", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a script, without .py")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    asked = parser.parse_args(arguments)
    scripts = choose_figures(asked.names)
    done = {script.name for script in _drawing.drawn(scripts, asked.jobs)}
    _pictures.contact_sheet([s for s in _catalogue.scripts() if s.figure.exists()])
    failed = [script.name for script in scripts if script.name not in done]
    if failed:
        print(f"Failed: {', '.join(failed)}.", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
