"""Write a file completely or not at all, write JSON, and read the JSON that an earlier command wrote.

JSON with a repeated key in one object is refused, because JSON does not define which value counts
(https://www.rfc-editor.org/rfc/rfc8259#section-4).
"""

import json
import os
import secrets
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EACCES, EISDIR, ENOENT, ENOTDIR
from pathlib import Path
from shutil import copymode
from typing import Any

import orjson

from express_path.adapters.memory import gc_paused
from express_path.errors import RecordError
from express_path.fields import Description
from express_path_cli.terminal.console import without_controls
from express_path_cli.terminal.errors import OptionError


class RepeatedKeyError(Exception):
    """A JSON object has the same key twice."""

    def __init__(self, key: str) -> None:
        """Keep the first repeated key."""
        self.key = key
        super().__init__(key)


def without_repeated_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return one JSON object, as an object_pairs_hook of json.loads. Raise RepeatedKeyError."""
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKeyError(next(key for key in keys if keys.count(key) > 1))
    return values


@dataclass(frozen=True, slots=True)
class WrittenBy:
    """What wrote a file: its output in words, the command line that makes one, and the version that can be read.

    keys are those that each file has, apart from schemaVersion.
    """

    output: str
    command: str
    schema_version: int
    keys: Iterable[str]

    def hint(self, file: Path) -> str:
        """Return how to make the file."""
        return f"make one with: {self.command} {file.name}"


@gc_paused()
def read_json(file: Path, written_by: WrittenBy) -> Description:
    """Return the JSON object in a file.

    Raise OptionError if the file cannot be read, was not written by the command, or has another schemaVersion.
    """
    name, hint = str(file), written_by.hint(file)
    try:
        document = json.loads(file.read_bytes(), object_pairs_hook=without_repeated_keys)
    except OSError as error:
        raise OptionError(f"{name} cannot be read: {error.strerror}", hint) from error
    except RepeatedKeyError as error:
        raise OptionError(f"{name} has the key {error.key!r:.60} twice in one object", hint) from error
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{name} is not JSON, or is cut short ({error})", hint) from error
    if not isinstance(document, Mapping) or not {"schemaVersion", *written_by.keys} <= document.keys():
        raise OptionError(f"{name} is not the {written_by.output}", hint)
    version = document["schemaVersion"]
    if isinstance(version, bool) or version != written_by.schema_version:
        raise OptionError(
            f"{name} has the schemaVersion {version!r:.40}, but this version of express-path reads "
            f"{written_by.schema_version}",
            f"use the version of express-path that wrote it, or make it again with: {written_by.command} {shlex.quote(file.name)}",
        )
    return document


@contextmanager
def faults_in(file: Path, written_by: WrittenBy) -> Iterator[None]:
    """Raise each RecordError as OptionError, which names the file as well as the field."""
    try:
        yield
    except RecordError as error:
        raise OptionError(f"{file}: {error}", written_by.hint(file)) from error


def json_document(schema_version: int, fields: Mapping[str, Any]) -> str:
    """Return a JSON document, which begins with its schemaVersion."""
    return to_json({"schemaVersion": schema_version, **fields}, orjson.OPT_INDENT_2).decode() + "\n"


def to_json(value: object, option: int = 0) -> bytes:
    """Return a value as JSON in UTF-8, without characters that control a terminal. option: of orjson.

    A key may be of a subclass of str, such as an enum or the address of a new subnet.
    """
    option |= orjson.OPT_NON_STR_KEYS
    try:
        text = orjson.dumps(value, option=option)
        if text.isascii() and b"\x7f" not in text:
            return text
    except orjson.JSONEncodeError:  # half of a surrogate pair
        pass
    return orjson.dumps(_clean(value), option=option)


def _clean(value: object) -> object:
    if isinstance(value, str):
        return without_controls(value)
    if isinstance(value, Mapping):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_clean, value))
    return value


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
    with _writing(file):
        if file.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        if file.exists() and not file.is_file():
            with file.open("wb") as opened:
                opened.writelines(pieces)
        else:
            write_new_file(file.resolve(), pieces)


def check_output(file: Path | None) -> Path | None:
    """Return the file of an --output. Raise OptionError if it cannot be written, before anything is read for it."""
    if file and file != STDOUT:
        with _writing(file):
            problem = _problem_with(file)
            if problem:
                raise OSError(problem, os.strerror(problem))
    return file


def _problem_with(file: Path) -> int:
    """Return the error number of a file that cannot be written; 0 if it can."""
    if file.is_dir():
        return EISDIR
    is_special = file.exists() and not file.is_file()  # a pipe or a device is written to directly
    target = file if is_special else file.resolve().parent
    if not is_special and not target.is_dir():
        return ENOTDIR if target.exists() else ENOENT
    return 0 if os.access(target, os.W_OK) else EACCES


@contextmanager
def _writing(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OptionError(
            f"{file} cannot be written: {error.strerror}", "use a folder that you can write to and that has space"
        ) from error
