"""Write a file completely or not at all, without following what others have put in its place."""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from shutil import copymode

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
