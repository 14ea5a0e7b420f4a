"""The benchmarks are a package of the repository, not of the library: its root must be in sight."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]
