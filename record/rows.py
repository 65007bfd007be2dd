"""The list of mutants: one line of tab-separated values for each."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Self, TextIO

HEADER = ("number", "file", "definition", "original", "replacement", "operator", "result", "found_by")
_ESCAPES = (("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"))


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutant, and what the tests of the base commit made of it.

    result is FOUND, NOT FOUND, or empty as long as it has not run; found_by is the test.
    """

    number: int
    file: str
    definition: str
    original: str
    replacement: str
    operator: str
    result: str = ""
    found_by: str = ""

    def numbered(self, number: int) -> Self:
        """Return the mutant with its number."""
        return replace(self, number=number)


def write(out: TextIO, mutants: Iterable[Mutant]) -> None:
    """Write a list."""
    out.write("\t".join(HEADER) + "\n")
    out.writelines(line(mutant) for mutant in mutants)


def line(mutant: Mutant) -> str:
    """Return one line of a list."""
    fields = [str(value) for value in astuple(mutant)]
    for plain, escaped in _ESCAPES:
        fields = [field.replace(plain, escaped) for field in fields]
    return "\t".join(fields) + "\n"


def read(file: Path) -> list[Mutant]:
    """Return a list; of lines with the same number, the last one counts."""
    found = {}
    for text in file.read_text(encoding="utf-8").splitlines()[1:]:
        number, *fields = (_plain(field) for field in text.split("\t"))
        found[int(number)] = Mutant(int(number), *fields)
    return list(found.values())


def _plain(field: str) -> str:
    parts = field.split("\\\\")
    return "\\".join(part.replace("\\n", "\n").replace("\\t", "\t") for part in parts)
