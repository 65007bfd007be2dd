"""The package that StackSets deploy, made once for the tests of the roll-out."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from org.package import package


@dataclass(frozen=True)
class Packaged:
    """A package of a small folder of code: the keys of its files, and the folder to upload."""

    keys: dict[str, str]
    upload: Path

    def text(self, parameter: str) -> str:
        """Return the text of the file whose key is a parameter's value."""
        return (self.upload / self.keys[parameter]).read_text(encoding="utf-8")

    @property
    def template(self) -> dict[str, Any]:
        """The rule's template."""
        parsed: dict[str, Any] = json.loads(self.text("TemplateKey"))
        return parsed


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
    return Packaged(package(code, output), output / "upload")
