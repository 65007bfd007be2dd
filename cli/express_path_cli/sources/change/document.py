"""Read the file of a proposed change. It may be a pipe, and it may be anything: size and depth are bounded.

The readers of express_path.fields check its shape once. What is behind them works with checked values, so any other error
there is a bug. A plan contains the values of every resource, and secrets among them: errors name the place, and never the
value.
"""

import codecs
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from express_path.adapters.memory import gc_paused
from express_path.errors import ExpressPathError, RecordError

MAX_BYTES = 128 << 20
"""The most bytes that are read of a file. In memory, a document takes several times its size."""
MAX_DEPTH = 200
"""How deep objects and lists may be nested. Python calls 1,000 functions deep, and some functions here are recursive."""
REMEDY = "use what `terraform show -json plan.out` prints, a change set of CloudFormation, or a template"

_NESTED = (dict, list)


class ChangeError(ExpressPathError):
    """A file is not a proposed change that can be judged."""

    def __init__(self, path: str, fault: str, remedy: str) -> None:
        """Keep the file, the fault, and the remedy."""
        self.path, self.fault, self.remedy = path, fault, remedy
        super().__init__(f"{path}: {fault}; {remedy}")


def fault_of(error: RecordError) -> str:
    """Return which field of a document is not as documented, and what is allowed, without the value."""
    return f"{'.'.join(filter(None, (error.resource, error.field)))} must be {error.allowed}"


@contextmanager
def faults_in(path: str, remedy: str) -> Iterator[None]:
    """Raise each RecordError as ChangeError, which names the file as well as the field, and no value."""
    try:
        yield
    except RecordError as error:
        raise ChangeError(path, fault_of(error), remedy) from None


@gc_paused()
def read_json(file: Path) -> Mapping[str, Any]:
    """Return the JSON object in a file or pipe, which is read once. Raise ChangeError."""
    try:
        document = orjson.loads(read_content(file))
    except orjson.JSONDecodeError as error:
        fault = f"is not JSON, is cut short, or is nested too deeply (line {error.lineno}, column {error.colno})"
        raise ChangeError(str(file), fault, REMEDY) from None
    if not isinstance(document, dict):
        raise ChangeError(str(file), "is not a JSON object", REMEDY)
    check_depth(str(file), document)
    return document


def read_content(file: Path, most: int = MAX_BYTES) -> bytes:
    """Return what a file or pipe contains, as UTF-8 without a byte order mark. Raise ChangeError; most is in bytes.

    Windows PowerShell writes UTF-16, or UTF-8 with a mark:
    https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_character_encoding.
    """
    try:
        with file.open("rb") as stream:
            content = stream.read(most + 1)
    except OSError as error:
        raise ChangeError(str(file), f"cannot be read: {error.strerror}", REMEDY) from None
    if not content:
        raise ChangeError(str(file), "is empty", REMEDY)
    if len(content) > most:
        remedy = "split the configuration, or plan a part of it with -target"
        raise ChangeError(str(file), f"has more than the {most >> 20} MiB that are read", remedy)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", errors="replace").encode()
    return content.removeprefix(codecs.BOM_UTF8)


def check_depth(path: str, document: object) -> None:
    """Raise ChangeError if objects and lists are nested too deeply."""
    if is_too_deep(document):
        raise ChangeError(path, f"has objects and lists nested more than {MAX_DEPTH} deep", REMEDY)


def is_too_deep(document: object) -> bool:
    """Return whether objects and lists are nested too deeply. With the aliases of YAML, they may contain themselves."""
    level: Iterable[Any] = [[document]]
    for _ in range(MAX_DEPTH + 1):
        parts = chain.from_iterable(one.values() if isinstance(one, dict) else one for one in level)
        level = {id(part): part for part in parts if isinstance(part, _NESTED)}.values()
        if not level:
            return False
    return True
