"""The network in which other tools are compared with express-path. They are not installed here."""

import json
import re

import pytest

from benchmarks import peers
from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.server import Sandbox
from tests.support.command import invoke
from tests.support.everything import Everything


@pytest.mark.long
def test_express_path_agrees_with_what_was_planted(sandbox: Sandbox) -> None:
    """Each of 40 situations is a subnet of its own, and a scan flags those that cross a NAT and no others."""
    subnets = Everything(Account(sandbox)).subnets
    assert len(set(subnets.values())) == len(subnets)
    assert len(peers.CROSSING) + len(peers.NOT_CROSSING) == 40
    assert sorted(subnets) == sorted([*peers.CROSSING, *peers.NOT_CROSSING, *peers.NOT_JUDGED])
    rows = json.loads(invoke(["scan", "--format", "json"]).stdout)["subnets"]
    flagged = [row["subnetId"] for row in rows if row["compliance"] == "NON_COMPLIANT"]
    assert peers.judged(subnets, flagged) == peers.Judgment(peers.CROSSING, frozenset(), frozenset())


def test_page_shows_the_pinned_versions() -> None:
    """Run `python -m benchmarks peers` after you pin another version, and read the difference."""
    text = peers.DOCUMENT.read_text(encoding="utf-8")
    for tool, package in (("Cloud Custodian", "c7n"), ("Prowler", "prowler")):
        assert re.search(rf"^\| {tool} \| {re.escape(peers.PEERS[package])} \|", text, re.MULTILINE)
