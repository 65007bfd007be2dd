"""The whole lab in about a minute, if the machine allows it and has the S3 server: `make verify` runs this."""

import subprocess
import sys
from pathlib import Path

import pytest

from express_path_instrument.lab.__main__ import NOT_SHOWN
from express_path_instrument.lab.needs import find_server, missing
from express_path_instrument.lab.results import CHART_FILE, NAMES, ROUTE_CHANGES

ROOT = Path(__file__).parents[3]
REASONS = missing() or ([] if find_server() else ["make build/lab/versitygw builds the S3 server"])

pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(REASONS), reason="; ".join(REASONS))]


def test_quick_lab_shows_the_limit_and_the_route_change(tmp_path: Path) -> None:
    """No claim is refuted, all open connections end at the route change, and the results can be compared again.

    If other work keeps the machine busy, claims are not shown, and the exit status says so.
    """
    command = [sys.executable, "-m", "express_path_instrument.lab", "--quick"]
    run = subprocess.run(
        [*command, "--output", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False, timeout=240
    )
    files = {**NAMES, **ROUTE_CHANGES}
    shown, not_shown = run.stdout.count("\nSHOWN "), run.stdout.count("\nNOT SHOWN ")
    assert run.returncode == (NOT_SHOWN if not_shown else 0), run.stdout + run.stderr
    assert shown + not_shown == 6
    assert "with resets, 8 downloads: 8 x connection reset by peer" in run.stdout
    assert "without resets, 8 downloads: 8 x timed out" in run.stdout
    assert {path.name for path in tmp_path.iterdir()} == {*(f"{name}.json" for name in files), CHART_FILE}
