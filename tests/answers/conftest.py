"""The table of `make answers`."""

import pytest

from tests.answers.customer import Outcome
from tests.answers.page import keep


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was observed in each row that was played, and how many are wrong in silence."""
    reports = [*terminalreporter.stats.get("passed", []), *terminalreporter.stats.get("failed", [])]
    played = [(dict(report.user_properties), report.duration) for report in reports if report.when == "call"]
    lines = [
        [*found["row"], found.get("outcome", "it could not be played"), f"{seconds:.0f} s"]
        for found, seconds in played
        if "row" in found
    ]
    if not lines:
        return
    keep((", ".join(line[:3]), line[3]) for line in lines)
    lines.sort()
    titles = ["switch", "answer", "what was played", "outcome", "time"]
    widths = [max(map(len, column)) for column in zip(titles, *lines, strict=True)]
    for line in [titles, *lines]:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        terminalreporter.write_line("  ".join(cells).rstrip())
    silent = sum(line[3] == Outcome.SILENT for line in lines)
    terminalreporter.write_line(f"{len(lines)} rows, {silent} wrong in silence")
