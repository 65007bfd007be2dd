"""Compile an artifact with an interpreter of exactly the function's Python version, wherever this machine keeps one.

Run by functions/Makefile as `python3 compile_artifact.py ARTIFACTS_DIR 3.13`; standard library only. Lambda cannot
write .pyc files beside the code, so without them every cold start compiles every module it imports. They are
"unchecked": an archive does not keep modification times, which ordinary ones depend on (PEP 552). A machine without
such an interpreter still builds an artifact that works, and is told what it costs.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# Where Lambda unpacks a function: https://docs.aws.amazon.com/lambda/latest/dg/python-package.html
TASK_ROOT = "/var/task"
MISSING = """
WARNING: no Python {version} was found, so the artifact holds no .pyc files. It works, but each cold start will take
about twice as long. Install Python {version} (for example with `uv python install {version}`) and build again.
"""


def candidates(version: str) -> Iterator[str]:
    """Yield paths that may be an interpreter of `version` ("3.13"): on PATH, then pyenv's, then uv's."""
    for folder in os.get_exec_path():
        for name in (f"python{version}", "python3"):
            if found := shutil.which(name, path=folder):
                yield found
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    yield from (str(path) for path in sorted(pyenv.glob(f"{version}*/bin/python{version}")))
    if uv := shutil.which("uv"):
        find = [uv, "python", "find", "--managed-python", "--no-python-downloads", version]
        yield from subprocess.run(find, capture_output=True, text=True, check=False).stdout.split()


def is_version(interpreter: str, version: str) -> bool:
    """Return whether `interpreter` starts at all and is CPython of `version`; a pyenv shim on PATH may be neither."""
    ask = "import sys; print(sys.implementation.name, '%d.%d' % sys.version_info[:2])"
    answer = subprocess.run([interpreter, "-c", ask], capture_output=True, text=True, check=False)
    return answer.returncode == 0 and answer.stdout.split() == ["cpython", version]


def find_interpreter(version: str) -> str | None:
    """Return the first interpreter of exactly `version`, or None."""
    return next((path for path in candidates(version) if is_version(path, version)), None)


def compile_artifact(artifact: Path, interpreter: str) -> None:
    """Write .pyc files beside every module, named as Lambda will see them; the same input gives the same bytes."""
    command = [interpreter, "-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash"]
    subprocess.run(
        [*command, "-s", str(artifact), "-p", TASK_ROOT, str(artifact)],
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )


def main(artifact: Path, version: str) -> None:
    """Compile the artifact folder in place, or say on stderr why it was not done."""
    if interpreter := find_interpreter(version):
        compile_artifact(artifact, interpreter)
    else:
        sys.stderr.write(MISSING.format(version=version))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
