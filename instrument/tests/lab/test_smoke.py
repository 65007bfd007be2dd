"""The whole lab in about a minute, if the machine allows it and has the S3 server: `make verify` runs this."""

import subprocess
import sys
from pathlib import Path

import pytest

from express_path_instrument.lab.needs import find_server, missing
from express_path_instrument.lab.results import CHART_FILE, CONTROL_FILE, ENDPOINT_FILE, NAT_FILE

ROOT = Path(__file__).parents[3]
SERVER = find_server(None)
REASONS = missing(SERVER)

pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(REASONS), reason="; ".join(REASONS))]


def test_quick_lab_shows_the_ceiling_and_the_route_change(tmp_path: Path) -> None:
    """All claims hold, all open connections end at the route change, and the results can be compared again."""
    command = [
        sys.executable,
        "-m",
        "express_path_instrument.lab",
        "--quick",
        "--server",
        str(SERVER),
        "--output",
        str(tmp_path),
    ]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=180)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("\nyes ") == 5
    assert "ConnectionResetError" in run.stdout
    assert {path.name for path in tmp_path.iterdir()} == {NAT_FILE, ENDPOINT_FILE, CONTROL_FILE, CHART_FILE}
