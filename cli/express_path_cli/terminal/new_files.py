"""Write a file completely or not at all, without following what others have put in its place."""

import os
import secrets
from collections.abc import Iterable
from errno import EISDIR
from pathlib import Path
from shutil import copymode

from express_path_cli.terminal.console import without_controls
from express_path_cli.terminal.errors import OptionError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def write_new_file(file: Path, pieces: Iterable[bytes]) -> None:
    """Write a file under a random name, then rename it. Raise OSError.

    Until then, an old file is kept. The new one gets its permissions.
    """
    unfinished = file.with_name(f".express-path-{secrets.token_hex(8)}.unfinished")
    # A private file stays private while it is written.
    descriptor = os.open(unfinished, _NEW, 0o600 if file.exists() else 0o666)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.writelines(pieces)
        if file.exists():
            copymode(file, unfinished)
        unfinished.replace(file)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


STDOUT = Path("-")
"""The file name that stands for standard output."""


def write_file(file: Path, pieces: Iterable[str]) -> None:
    """Write a text file without control characters, completely or not at all. See write_bytes."""
    write_bytes(file, (without_controls(piece).encode() for piece in pieces))


def write_bytes(file: Path, pieces: Iterable[bytes]) -> None:
    """Write a file completely or not at all: an old file is kept until the new one is complete. Raise OptionError.

    The new file keeps the permissions of the old one. Symbolic links are followed, and a pipe is written to directly.
    """
    try:
        if file.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        if file.exists() and not file.is_file():
            with file.open("wb") as opened:
                opened.writelines(pieces)
        else:
            write_new_file(file.resolve(), pieces)
    except OSError as error:
        raise OptionError(
            f"{file} cannot be written: {error.strerror}", "use a folder that you can write to and that has space"
        ) from error
