"""The built wheel brings the page's files, and a command that is installed from it writes the same report."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from hatchling.builders.wheel import WheelBuilder

from express_path_cli.findings.formats.html.page import SCRIPTS
from tests.support.scenarios import dump_of

ROOT = Path(__file__).parents[3]


def test_wheel_brings_the_page(tmp_path: Path) -> None:
    """Markup, style and every script are in the wheel; unpacked somewhere else, it writes a report."""
    [wheel] = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    unpacked = tmp_path / "unpacked"
    with ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    page = unpacked / "express_path_cli" / "findings" / "formats" / "html"
    assert {file.name for file in page.iterdir() if file.suffix != ".py"} == {"page.html", "page.css", *SCRIPTS}
    file = tmp_path / "report.html"
    program = "from express_path_cli.main import app; app()"
    dump = str(dump_of("gateway-endpoint"))
    written = subprocess.run(
        [sys.executable, "-c", program, "report", "--from-dump", dump, "--output", str(file)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(unpacked)},
    )
    assert written.returncode == 0, written.stderr
    assert "<h1" in file.read_text(encoding="utf-8")
