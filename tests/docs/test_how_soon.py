"""How soon a change is found: the table in how-it-decides.md."""

import json
from itertools import chain
from pathlib import Path

from benchmarks.pages import with_table
from express_path.domain.verdict.fanout import FAN_OUT, ResourceType
from tests.docs.how_soon import DOCUMENT, NAME, READS, Unannounced, table

OPERATIONS = json.loads((Path(__file__).parents[2] / "functions" / "operations.json").read_text(encoding="utf-8"))
OF_NETWORK = ("ec2", "network-firewall", "ram", "s3", "sts")
"""The services from which the rule reads the network."""


def test_the_table_is_current() -> None:
    """Run `.venv/bin/python -m tests.docs.how_soon` after a change of the fan-out, and read the difference."""
    page = DOCUMENT.read_text(encoding="utf-8")
    assert with_table(page, NAME, table()) == page


def test_each_type_that_the_rule_follows_has_a_fan_out() -> None:
    """A type without one would be a trigger that evaluates nothing."""
    assert FAN_OUT.keys() == set(ResourceType)


def test_each_read_of_the_network_has_a_row() -> None:
    """Whatever the rule reads can change. The table says how soon that is found."""
    called = OPERATIONS["evaluate"]
    assert READS.keys() == {f"{service}:{operation}" for service in OF_NETWORK for operation in called[service]}
    assert set(chain.from_iterable(READS.values())) == {*ResourceType, *Unannounced}
