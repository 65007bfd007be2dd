"""The archive of the functions' code: the same files give the same bytes, with any version of zlib that compresses them alike.

`python -m org.archive FOLDER ARCHIVE` writes one, for `make dist`.
"""

import stat
import sys
import zipfile
from pathlib import Path

DATE = (1980, 1, 2, 0, 0, 0)
"""The time of every file in the archive, that of functions/Makefile."""


def files_below(folder: Path) -> list[Path]:
    """Return the files below a folder, in the same order on every machine."""
    return sorted((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.as_posix())


def write_archive(folder: Path, archive: Path) -> None:
    """Write the files below a folder into a zip archive for Lambda, which needs to be allowed to read each of them.

    https://docs.aws.amazon.com/lambda/latest/dg/python-package.html#python-package-permissions
    """
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as opened:
        for path in files_below(folder):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), DATE)
            entry.create_system = 3  # Unix, whatever machine this is, so that the mode counts
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            opened.writestr(entry, path.read_bytes())


if __name__ == "__main__":
    write_archive(*map(Path, sys.argv[1:]))
