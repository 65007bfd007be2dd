"""The package that StackSets deploy, made once for the tests of the roll-out."""

from pathlib import Path

import pytest

from org.package import package
from tests.support.organization import Packaged


@pytest.fixture(scope="session")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with code."""
    folder = tmp_path_factory.mktemp("code")
    (folder / "express_path").mkdir()
    (folder / "express_path" / "handler.py").write_text("def handler(event, context): ...\n", encoding="utf-8")
    (folder / "library.py").write_text("VALUE = 1\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def packaged(code: Path, tmp_path_factory: pytest.TempPathFactory) -> Packaged:
    """Return the package of that folder."""
    output = tmp_path_factory.mktemp("package") / "org"
    return Packaged(package(code, code, output), output / "upload")
