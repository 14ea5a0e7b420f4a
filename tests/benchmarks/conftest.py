"""The benchmarks are a package of the repository, not of the library: its root must be in sight.

They are tested with ``--full``.
"""

import sys
from pathlib import Path

from support import effort

if not effort.is_full():
    collect_ignore_glob = ["test_*.py"]

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]
