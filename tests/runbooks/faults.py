"""The fault matrix of heals, undos, and approvals: only `make faults` plays it, and prints the table."""

from collections.abc import Callable

import pytest

from tests.runbooks.bench import Bench
from tests.runbooks.fault_matrix import CELLS, Cell, play
from tests.support.heals import Deployment
from tests.support.network import Builder


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_cell(
    deployment: Deployment,
    builder: Builder,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
    cell: Cell,
) -> None:
    """Whatever goes wrong with a step, undos restore the tables and change nothing else, and the next heal succeeds."""
    record_property("cell", (cell.document, cell.step, cell.column))
    record_property("outcome", play(cell, Bench(deployment, builder, monkeypatch)))
