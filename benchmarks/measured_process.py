"""Run a program, and print its seconds of processor time and the peak of its memory in MiB.

    python -S benchmarks/measured_process.py STATUS PROGRAM [ARGUMENT]...

STATUS is the exit status that it must have. Its output goes into the file `stdout`. This process is small, because the
peak of a new process is at least that of the one that starts it. On Linux, ru_maxrss is in KiB (getrusage(2)).
"""

import resource
import subprocess
import sys
from pathlib import Path

expected, *line = sys.argv[1:]
with Path("stdout").open("w", encoding="utf-8") as stdout:
    status = subprocess.call(line, stdout=stdout)
if status != int(expected):
    sys.exit(f"{line[0]}: exit status {status}")
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
