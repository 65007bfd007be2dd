"""Measure scans of a dump: `python -m benchmarks.command_client DUMP FOLDER FORMAT...` writes FOLDER/scan.FORMAT.

Each scan runs in a fork of one process that has imported the command: nothing is imported twice, but each scan has a
peak of memory of its own. Prints a line of JSON for each format: a Run without its file.
"""

import json
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

from benchmarks.command_runs import seconds_to_read
from express_path_cli.main import app


def main(dump: str, folder: str, *formats: str) -> None:
    """Scan in each format, one after another."""
    for form in formats:
        with suppress(SystemExit):  # a first scan, which imports what scans use
            app(["scan", "--example", "--quiet", "--format", form, "--output", f"{folder}/example"])
        reading = seconds_to_read(Path(dump))
        process_id = os.fork()
        if not process_id:
            _scan(["scan", "--from-dump", dump, "--format", form], Path(folder) / f"scan.{form}", reading)
        os.waitpid(process_id, 0)


def _scan(arguments: list[str], file: Path, reading: float) -> None:
    """Run the command with its standard output in a file, print what it used, and end this process."""
    printed = os.dup(1)
    with file.open("wb") as out:
        os.dup2(out.fileno(), 1)
    try:
        app(arguments)
    except SystemExit as ended:
        sys.stdout.flush()
        used = resource.getrusage(resource.RUSAGE_SELF)  # of this process, without the one it was forked from
        seconds = used.ru_utime + used.ru_stime
        run = {"status": ended.code, "reading": reading, "seconds": seconds, "mebibytes": _peak()}
        os.write(printed, f"{json.dumps(run)}\n".encode())
    finally:
        os._exit(0)


def _peak() -> float:
    """Return the most memory that this process had since its fork, in MiB.

    The ru_maxrss of a child counts what its parent had (https://man7.org/linux/man-pages/man5/proc_pid_status.5.html).
    """
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
