"""The file and line of each block of a Terraform configuration, without reading its language.

Only regular files inside the repository of the configuration are read, or without one inside its folder, and no more than
people write. What is not found has no line: a configuration in JSON, and a module outside the repository.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import orjson

from express_path.errors import RecordError
from express_path.fields import free_text, required_rows

MAX_BYTES = 1 << 20
"""How much of a file is read, in bytes."""
MAX_TOTAL = 8 << 20
"""How much of a configuration is read, in bytes."""
MAX_COUNT = 1000
"""How many modules are read, and how many entries of a folder."""
_BLOCK = re.compile(
    r"<<-?([\w-]+)\s*?\n.*?(?:^[ \t]*\1\s*?$|\Z)"
    r"|^[ \t]*(?:/\*.*?(?:\*/|\Z)"
    r'|resource[ \t]+"?(?P<type>[\w-]+)"?[ \t]+"?(?P<name>[\w-]+)"?[ \t]*\{'
    r'|module[ \t]+"?(?P<call>[\w-]+)"?[ \t]*\{(?:[^}]{0,500}?^[ \t]*source[ \t]*=[ \t]*"(?P<source>\.[^"\n]*)")?)',
    re.MULTILINE | re.DOTALL,
)
"""A text such as <<EOT or a long comment, in which there are no blocks; or a block with its labels."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where a block is: the file, relative to the current folder or else to the configuration, and its first line."""

    file: str
    line: int


def lines_of(folder: Path) -> Mapping[str, Location]:
    """Return where each resource block is, by its address."""
    root = folder.resolve()
    repository = _repository(root)
    installed = _installed_modules(root, ".terraform")
    modules = [("", root)]
    found: dict[str, Location] = {}
    left = MAX_TOTAL
    for module, place in islice(modules, MAX_COUNT):
        for file, text in _texts(place, repository, ".tf", ".tofu", root=root):
            left -= len(text)
            if left < 0:
                return found
            line, end = 1, 0
            for block in _BLOCK.finditer(text):
                line, end = line + text.count("\n", end, block.start()), block.start()
                if block["type"]:
                    found.setdefault(f"{module}{block['type']}.{block['name']}", Location(file, line))
                elif block["call"]:
                    inner = f"{module}module.{block['call']}."
                    there = installed.get(inner)
                    if there or block["source"]:
                        modules.append((inner, root / there if there else place / block["source"]))
    return found


def module_texts(folder: Path, data_folder: Path) -> Iterator[tuple[str, str | None]]:
    """Yield the address of each installed module with the text of each of its files, None for one that cannot be read.

    Terraform reads these files too, wherever they are. data_folder: where it keeps its list of modules.
    """
    installed = _installed_modules(data_folder.parent, data_folder.name)
    for module, place in islice({"": "", **installed}.items(), MAX_COUNT):
        address, root = module.removesuffix("."), (folder / place).resolve()
        for file, text in _texts(root, root, ".tf", ".tofu", ".json"):
            if not file.endswith(".json"):
                yield address, text if len(text) < MAX_BYTES else None
            elif file.endswith((".tf.json", ".tofu.json")):
                yield address, None


def _repository(root: Path) -> Path:
    """Return the root of the repository that a folder is in, the folder itself without one."""
    return next((folder for folder in (root, *root.parents) if os.path.lexists(folder / ".git")), root)


def has_configuration(folder: Path) -> bool:
    """Return whether a folder has a file of Terraform or OpenTofu, in their language or in JSON."""
    return any(re.search(r"\.(tf|tofu)(\.json)?$", file.name) for file in folder.glob("*"))


def _installed_modules(root: Path, data_folder: str) -> Mapping[str, str]:
    """Return the folder of each module that Terraform installed, by its address and a dot."""
    for _, text in _texts(root / data_folder / "modules", root, ".json"):
        with suppress(RecordError, orjson.JSONDecodeError):
            return _listed_modules(orjson.loads(text))
    return {}


def _listed_modules(document: object) -> Mapping[str, str]:
    """Return what the list of installed modules says. Raise RecordError if it is none."""
    place = "modules.json"
    if not isinstance(document, Mapping):
        raise RecordError(place, "", document, "an object")
    return {
        f"module.{free_text(row, 'Key', place).replace('.', '.module.')}.": free_text(row, "Dir", place)
        for row in required_rows(document, "Modules", place)
        if row.get("Key") != ""  # the root module
    }


def _texts(place: Path, outer: Path, *suffixes: str, root: Path | None = None) -> Iterator[tuple[str, str]]:
    """Yield each regular file of a folder that is inside the outer folder, and its text. Override files are last.

    root: the folder of the configuration, the outer one if there is none. If it is not in the current folder, files are named
    from it.

    https://developer.hashicorp.com/terraform/language/files/override
    """
    # A loop of links is a RuntimeError until Python 3.13, and a null character in a path is a ValueError.
    with suppress(OSError, RuntimeError, ValueError):
        files = [file.resolve() for file in islice(place.iterdir(), MAX_COUNT) if file.suffix in suffixes]
        for file in sorted(files, key=lambda file: (file.stem.endswith("override"), file)):
            if file.is_relative_to(outer) and file.is_file():
                with file.open("rb") as stream:
                    text = stream.read(MAX_BYTES).decode("utf-8-sig", errors="replace")
                here, start = Path.cwd(), root or outer
                if start.is_relative_to(here):
                    start = here
                yield Path(os.path.relpath(file, start)).as_posix(), text
