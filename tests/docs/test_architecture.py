"""docs/architecture.md shows the layout that tests/test_imports.py checks, and where to change each part of it."""

import re

import pytest

from tests.docs.architecture import PAGE, regenerated
from tests.support.layout import PACKAGES, RANKS, ROOT, Package

TABLE = PAGE.read_text(encoding="utf-8").partition("## To change something\n")[2]
ROOMS = [room for rooms in RANKS for room in rooms if room != "main"]


def test_the_layout_is_current() -> None:
    """Run `.venv/bin/python -m tests.docs.architecture` after a change of the layout, and read the difference."""
    assert regenerated() == PAGE.read_text(encoding="utf-8")


def test_every_part_of_the_layout_exists() -> None:
    """A package or room that is gone is not listed."""
    assert [package.folder for package in PACKAGES if not (ROOT / package.folder).is_dir()] == []
    assert [room for room in ROOMS if not (ROOT / "cli" / "express_path_cli" / room).is_dir()] == []


@pytest.mark.parametrize("path", [f"cli/express_path_cli/{room}/" for room in ROOMS])
def test_the_table_has_every_room(path: str) -> None:
    """Each row begins with what is to be changed. The room is in one of the paths behind it."""
    assert f"`{path}" in TABLE


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.folder)
def test_the_table_has_every_package(package: Package) -> None:
    """A path below the package, or the package itself, is in the table."""
    assert re.search(rf"[`(/]{re.escape(package.folder)}/", TABLE)
