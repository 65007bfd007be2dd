"""Read the .tf and .tofu files of a configuration: where each block is, and its expressions, which a plan does not contain."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from express_path_cli.terminal.errors import OptionError

Node = Any
"""A node of the syntax tree: lark.Tree or lark.Token, which are imported only when a file is read."""
MAX_FILE_BYTES = 4 << 20
"""The largest file that is read; a longer one is no configuration that a person wrote."""
_MODULES = Path(".terraform") / "modules" / "modules.json"


@dataclass(frozen=True, slots=True)
class SourceBlock:
    """A block: its file, relative to the folder, its first line, and the expressions of its arguments."""

    file: str
    line: int
    arguments: Mapping[str, Node]


@dataclass(slots=True)
class Module:
    """One module: its blocks by kind and labels, such as ("resource", "aws_vpc", "this"), and its local values."""

    blocks: dict[tuple[str, ...], SourceBlock] = field(default_factory=dict)
    local_values: dict[str, Node] = field(default_factory=dict)


class Configuration:
    """The configuration in a folder. A module is read when it is first needed."""

    def __init__(self, folder: Path) -> None:
        """Find the folders of the modules. Raise OptionError if the folder has no configuration."""
        self._folder = folder
        if not has_configuration(folder):
            raise OptionError(
                f"--source {folder} contains no .tf or .tofu file", "use the folder in which the plan was made"
            )
        self._installed = _installed_modules(folder)
        self._modules: dict[tuple[str, ...], Module] = {}

    def module(self, calls: tuple[str, ...]) -> Module:
        """Return the module that is called by these names, one inside the other; empty if it was not found."""
        if calls not in self._modules:
            folder = self._folder_of(calls)
            self._modules[calls] = self._read(folder) if folder else Module()
        return self._modules[calls]

    def _folder_of(self, calls: tuple[str, ...]) -> Path | None:
        if not calls:
            return self._folder
        installed = self._installed.get(".".join(calls))
        if installed:
            return self._folder / installed
        parent = self._folder_of(calls[:-1])
        block = self.module(calls[:-1]).blocks.get(("module", calls[-1])) if parent else None
        source = block.arguments.get("source") if block else None
        text = literal_text(source) if source is not None else None
        return parent / text if parent and text and text.startswith(".") else None

    def _read(self, folder: Path) -> Module:
        found = Module()
        for file in _files(folder):
            for kind, labels, line, body in _blocks_in(file):
                arguments = dict(_arguments(body))
                if kind == "locals":
                    found.local_values.update(arguments)
                    continue
                block = found.blocks.get((kind, *labels)) or SourceBlock(_relative(file, self._folder), line, {})
                found.blocks[kind, *labels] = replace(block, arguments={**block.arguments, **arguments})
        return found


def has_configuration(folder: Path) -> bool:
    """Return whether a folder has a .tf or .tofu file."""
    return any(file.suffix in (".tf", ".tofu") for file in folder.glob("*"))


def _files(folder: Path) -> list[Path]:
    """Return the files of a module. The last ones are the override files, whose arguments replace those of other files.

    Return no file if it is not known which arguments hold: if an override file is JSON, which is not read here, or if a
    .tofu file, which Terraform ignores, overrides others or has the name of a .tf file, which OpenTofu then ignores.
    Sources: https://developer.hashicorp.com/terraform/language/files/override, https://opentofu.org/docs/language/files/.
    """
    tf, tofu = [{file.stem: file for file in folder.glob(f"*.{end}")} for end in ("tf", "tofu")]
    overrides = {name for name in (*tf, *tofu) if f"_{name}".endswith("_override")}
    if tofu.keys() & (tf.keys() | overrides) or any(folder.glob("*override.t*.json")):
        return []
    return [file for name, file in sorted((tf | tofu).items(), key=lambda item: (item[0] in overrides, item[0]))]


def _installed_modules(folder: Path) -> dict[str, str]:
    """Return the folder of each installed module, relative to the configuration, by the names of its calls."""
    try:
        document = json.loads((folder / _MODULES).read_text(encoding="utf-8"))
        return {row["Key"]: row["Dir"] for row in document["Modules"] if row["Key"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _relative(file: Path, folder: Path) -> str:
    try:
        return file.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return file.as_posix()


def _blocks_in(file: Path) -> Iterator[tuple[str, tuple[str, ...], int, Node]]:
    """Yield each block of a file: its kind, its labels, its line, and its body. A file that cannot be read has none."""
    if file.stat().st_size > MAX_FILE_BYTES:
        return
    tree = _parsed(file.read_text(encoding="utf-8", errors="replace"))
    for block in tree.children[0].children if tree else ():
        if is_node(block, "block"):
            heads = [child for child in block.children if is_node(child, "identifier", "string", "keyword")]
            labels = tuple(str(literal_text(head)) for head in heads[1:])
            body = next(child for child in block.children if is_node(child, "body"))
            yield str(literal_text(heads[0])), labels, block.meta.line, body


def _parsed(text: str) -> Node:
    """Return the syntax tree of a text, None if it is not HCL that is known here."""
    # The parser takes a second to load, and only a scan with a plan and its configuration needs it.
    import hcl2  # noqa: PLC0415
    from lark.exceptions import LarkError  # noqa: PLC0415

    try:
        return hcl2.parses_to_tree(text if text.endswith("\n") else f"{text}\n")
    except LarkError:
        return None


def _arguments(body: Node) -> Iterator[tuple[str, Node]]:
    for child in body.children:
        if is_node(child, "attribute"):
            yield str(literal_text(child.children[0])), child.children[-1]


def is_node(node: object, *names: str) -> bool:
    """Return whether an object is a node of the syntax tree with one of these names."""
    return getattr(node, "data", None) in names


def literal_text(node: object) -> str | None:
    """Return the text of a name or of a string without interpolations, None for anything else."""
    children = getattr(node, "children", None)
    if children is None:
        return str(node)
    if is_node(node, "string"):
        parts = [child.children[0] for child in children if is_node(child, "string_part")]
        return None if any(hasattr(part, "data") for part in parts) else "".join(map(str, parts))
    if is_node(node, "identifier", "keyword", "literal_value", "expr_term") and len(children) == 1:
        return literal_text(children[0])
    return None
