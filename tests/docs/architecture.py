"""The generated part of docs/architecture.md: python -m tests.docs.architecture writes it again.

It is made from tests/support/layout.py, which tests/test_imports.py checks.
"""

import re
from collections.abc import Iterator, Mapping

from tests.support.layout import INSTRUMENT_USES, PACKAGES, PARTS, RANKS, ROOT, lies_in

PAGE = ROOT / "docs" / "architecture.md"
_GENERATED = re.compile(r"(?<=<!-- generated: layout -->\n).*?(?=<!-- end -->\n)", re.DOTALL)
_DOMAIN = "express_path.domain"
_NODES = [name for name, part in PARTS.items() if part.does]


def regenerated() -> str:
    """Return the text of the page with the part that is made from the layout."""
    made = "\n".join(["", *_packages(), "", *_diagram(), "", *_rooms(), "", ""])
    return _GENERATED.sub(lambda _: made, PAGE.read_text(encoding="utf-8"))


def _packages() -> Iterator[str]:
    yield from ("| package | what it is | may import |", "|---|---|---|")
    for package in PACKAGES:
        imports = ", ".join(f"`{name}`" for name in package.imports)
        yield f"| `{package.folder}/` | {package.does} | {imports or 'no other package'} |"


def _diagram() -> Iterator[str]:
    """Yield the parts of the product. An arrow that follows from two others is left out, so that the diagram is readable."""
    yield from ("```mermaid", "flowchart TD", "    subgraph lambda [functions/express_path: what Lambda runs]")
    inner = [name for name in _NODES if lies_in(name, "express_path")]
    yield from (f"        {_node(name)}" for name in inner if not lies_in(name, _DOMAIN))
    yield "        subgraph domain [domain: standard library only]"
    yield from (f"            {_node(name)}" for name in inner if lies_in(name, _DOMAIN))
    yield from ("        end", "    end", "    subgraph command [cli/express_path_cli: the command]")
    for rank, rooms in enumerate(RANKS):
        yield f"        rank{rank}[{', '.join(rooms)}]"
    yield from (f"        rank{rank} --> rank{rank - 1}" for rank in range(len(RANKS) - 1, 0, -1))
    yield "    end"
    yield from (f"    {_node(name)}" for name in _NODES if name not in (*inner, "express_path_cli"))
    for name, others in _arrows().items():
        yield from (f"    {_id(name)} --> {_id(other)}" for other in others if (name, other) != _TO_COMMAND)
    yield f'    {_id(_TO_COMMAND[0])} -- "{", ".join(INSTRUMENT_USES)}" --> {_id(_TO_COMMAND[1])}'
    yield from ("    template[template.yaml, runbooks/] -. deploy and start .-> handlers", "```")


_TO_COMMAND = ("express_path_instrument", "express_path_cli")
"""The arrow that has names, because it leads to some of the rooms."""


def _node(name: str) -> str:
    return f"{_id(name)}[{_id(name)}<br/>{PARTS[name].does}]"


def _id(name: str) -> str:
    """Return the name of a part in the diagram. The command is the group of its ranks."""
    return "command" if name == "express_path_cli" else name.rpartition(".")[2].removeprefix("express_path_")


def _arrows() -> Mapping[str, list[str]]:
    """Return the parts that each part may import, without those that one of these parts may import too."""
    direct = {name: {other for other in _NODES if other != name and _may_import(name, other)} for name in _NODES}
    return {
        name: [other for other in _NODES if other in others and not any(other in direct[one] for one in others)]
        for name, others in direct.items()
    }


def _may_import(name: str, other: str) -> bool:
    allowed = [found for inner, part in PARTS.items() if lies_in(inner, name) for found in part.imports]
    return any(lies_in(other, found) or lies_in(found, other) for found in allowed)


def _rooms() -> Iterator[str]:
    yield from ("| rank | room of the command | what it has |", "|---|---|---|")
    for rank, rooms in reversed([*enumerate(RANKS)]):
        for room, does in rooms.items():
            yield f"| {rank} | `{room}{'.py' if room == 'main' else '/'}` | {does} |"


if __name__ == "__main__":
    PAGE.write_text(regenerated(), encoding="utf-8")
