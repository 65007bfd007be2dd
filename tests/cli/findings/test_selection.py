"""Which subnets are evaluated and shown."""

from dataclasses import replace

import pytest

from express_path.domain.network.resources import Vpc
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.findings.selection import (
    Selection,
    evaluate_all,
    matches,
    tags_of,
)
from express_path_cli.findings.words import parse_words
from express_path_cli.sources.network import View
from express_path_cli.terminal.errors import Failure, OptionError
from tests.cli.findings.results import FLAGGED
from tests.support.make import ACCOUNT, by_id, snapshot, subnet, table

TAGS = {"team": "data", "stage": "prod"}
NETWORK = snapshot(
    vpcs=by_id(Vpc("vpc-1", ACCOUNT, tags={"owner": "network"}), Vpc("vpc-2", ACCOUNT)),
    subnets=by_id(subnet("subnet-2", tags=TAGS), subnet("subnet-1"), subnet("subnet-3", "vpc-2", tags=TAGS)),
    route_tables=by_id(table("rtb-1", main=True, tags={"stage": "test", "owner": "web"})),
)
VIEW = View(Account(ACCOUNT), Tracer(NETWORK), tuple(NETWORK.subnets))


@pytest.mark.parametrize(
    ("selection", "selected"),
    [
        (Selection(), ["subnet-1", "subnet-2", "subnet-3"]),
        (Selection(frozenset({"vpc-1", "vpc-0"})), ["subnet-1", "subnet-2"]),
        (Selection(tags=("team",)), ["subnet-2", "subnet-3"]),
        (Selection(tags=("team=data", "stage=prod")), ["subnet-2", "subnet-3"]),
        (Selection(tags=("team=data", "stage=test")), []),
        (Selection(tags=("Team",)), []),
        (Selection(frozenset({"vpc-2"}), ("team",)), ["subnet-3"]),
        (Selection(tags=("stage=test",)), ["subnet-1"]),
        (Selection(tags=("owner=web",)), ["subnet-1", "subnet-2"]),
        (Selection(tags=("owner=network",)), []),
    ],
)
def test_subnets_are_selected_by_vpc_and_tags(selection: Selection, selected: list[str]) -> None:
    """Several VPCs are alternatives, and several tags must all match, case-sensitively.

    A subnet without a key has the tag of its route table, else that of its VPC.
    """
    assert [verdict.subnet_id for verdict in evaluate_all([VIEW], RuleParameters(), selection)] == selected


def test_what_no_subnet_has_is_named() -> None:
    """A VPC or a tag that was not found is usually misspelled."""

    def named(failures: list[Failure]) -> list[str]:
        return [failure.where for failure in failures]

    selection = Selection(frozenset({"vpc-1", "vpc-9"}), ("team", "Team", "team=x"))
    assert named(selection.missing_vpcs(NETWORK.vpcs, "look elsewhere")) == ["--vpc vpc-9"]
    used = [tags_of(VIEW, subnet_id) for subnet_id in VIEW.subnet_ids]
    assert named(selection.missing_tags(used)) == ["--tag Team", "--tag team=x"]


def test_a_selection_from_a_selection_has_what_both_select() -> None:
    """VPCs are alternatives, so only common ones stay; tags must all match, so all of them stay."""
    vpcs = Selection(frozenset({"vpc-1", "vpc-2"}), ("team",))
    assert vpcs & Selection(frozenset({"vpc-2", "vpc-3"}), ("stage", "team")) == Selection(
        frozenset({"vpc-2"}), ("team", "stage")
    )
    assert vpcs & Selection() == Selection() & vpcs == vpcs


def test_accounts_and_regions_are_sorted() -> None:
    """Verdicts are sorted by account, Region, and subnet, in whatever order they were read."""
    other = View(Account("000000000001"), Tracer(replace(NETWORK, region="us-west-2")), ("subnet-3", "subnet-1"))
    verdicts = evaluate_all([VIEW, other], RuleParameters(), Selection())
    order = [(verdict.account_id, verdict.region, verdict.subnet_id) for verdict in verdicts]
    assert len(order) == 5
    assert order == sorted(order)


def test_words_are_compliances_and_reasons_in_any_case() -> None:
    """Words that an option adds are lower case; another word is refused with those that are allowed."""
    words = parse_words("--fail-on", ["non_compliant", "NAT_GATEWAY", "NEW"], "new")
    assert words == {"NON_COMPLIANT", "NAT_GATEWAY", "new"}
    assert matches(FLAGGED, frozenset({"NAT_GATEWAY"}))
    assert matches(FLAGGED, frozenset({"NON_COMPLIANT"}))
    assert not matches(FLAGGED, frozenset({"NAT_INSTANCE", "COMPLIANT"}))
    with pytest.raises(OptionError, match="--show new: unknown compliance or reason") as raised:
        parse_words("--show", ["new"])
    assert "NAT_GATEWAY" in raised.value.hint
