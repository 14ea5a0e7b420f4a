"""``python -S stopwatch.py WORDS``: run a command; print its seconds, MiB and exit code as JSON.

A program of its own that imports next to nothing: on Linux a process begins with its parent's
high-water mark, which must be lower than that of anything it measures.
"""

import json
import os
import subprocess
import sys
import time

_UNIT = 1 if sys.platform == "darwin" else 1024


def measure_command(words: list[str]) -> dict[str, object]:
    """What the command took, all its threads counted, and the end of what it said of errors."""
    start = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        said = process.stderr.read() if process.stderr else b""
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "wall_s": wall,
        "cpu_s": used.ru_utime + used.ru_stime,
        "peak_mib": used.ru_maxrss * _UNIT / 2**20,
        "exit_code": process.returncode,
        "errors": said[-2000:].decode(errors="replace"),
    }


if __name__ == "__main__":
    print(json.dumps(measure_command(sys.argv[1:])))
