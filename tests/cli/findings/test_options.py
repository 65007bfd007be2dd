"""The commands that a scan prints for the next step."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from express_path.domain.path.reasons import Reason
from express_path_cli.aws.options import LiveOptions
from express_path_cli.findings.options import ScanOptions
from express_path_cli.findings.selection import Selection
from express_path_cli.findings.worklist import worklist
from express_path_cli.main import SUBCOMMANDS
from express_path_cli.sources.source import Source
from tests.cli.findings.results import COMPLIANT, DROPPED, FLAGGED

PARTLY = replace(FLAGGED, reason=Reason.PARTLY_NAT, subnet_id="subnet-1")
THROUGH_NAT = replace(FLAGGED, region="eu-west-1", subnet_id="subnet-2", route_table_id="rtb-2")
LIVE = LiveOptions(external_id="7", profile="prod eu", regions=("eu-west-1", "us-east-1"))
MEMBERS = LiveOptions(organization=True, role_name="Audit", external_id="42", all_regions=True, profile="prod")
SELECTION = Selection(frozenset({"vpc-2", "vpc-1"}), ("team=data",))


def printed(options: ScanOptions, *, lists_subnets: bool = False) -> list[str]:
    """Return the commands for two flagged subnets, the first of which a heal cannot fix."""
    found = list(options.next_commands(worklist([THROUGH_NAT, PARTLY]), lists_subnets=lists_subnets))
    assert ["account 111122223333" in step.purpose for step in found].count(True) == bool(
        options.source.live.organization or options.source.aggregator
    )
    return [step.command for step in found]


def accepted(command: str) -> bool:
    """Return whether express-path accepts the arguments of a command."""
    _, name, *arguments = shlex.split(command)
    return bool(SUBCOMMANDS.load(name).make_context(name, arguments))


@pytest.mark.parametrize(
    ("options", "commands"),
    [
        (
            ScanOptions(),
            [
                "express-path scan --show NON_COMPLIANT",
                "express-path explain subnet-1 --region us-east-1",
                "express-path heal rtb-2 --region eu-west-1",
            ],
        ),
        (
            ScanOptions(Source(Path("my dump")), ("publicSubnets=NON_COMPLIANT",), SELECTION),
            [
                (
                    "express-path scan --show NON_COMPLIANT --from-dump 'my dump' --parameter publicSubnets=NON_COMPLIANT "
                    "--vpc vpc-1 --vpc vpc-2 --tag team=data"
                ),
                "express-path explain subnet-1 --from-dump 'my dump' --parameter publicSubnets=NON_COMPLIANT",
            ],
        ),
        (
            ScanOptions(Source(example=True), ("publicSubnets=NON_COMPLIANT",)),
            [
                "express-path scan --show NON_COMPLIANT --example --parameter publicSubnets=NON_COMPLIANT",
                "express-path explain subnet-1 --example --parameter publicSubnets=NON_COMPLIANT",
            ],
        ),
        (
            ScanOptions(Source(live=LIVE)),
            [
                "express-path scan --show NON_COMPLIANT --region eu-west-1 --region us-east-1 --profile 'prod eu' --external-id 7",
                "express-path explain subnet-1 --region us-east-1 --profile 'prod eu' --external-id 7",
                "express-path heal rtb-2 --region eu-west-1 --profile 'prod eu'",
            ],
        ),
        (
            ScanOptions(Source(live=MEMBERS)),
            [
                (
                    "express-path scan --show NON_COMPLIANT --all-regions --organization --profile prod --role-name Audit "
                    "--external-id 42"
                ),
                "express-path explain subnet-1 --region us-east-1",
            ],
        ),
        (
            ScanOptions(Source(aggregator="all", live=LiveOptions(profile="prod"))),
            [
                "express-path scan --show NON_COMPLIANT --aggregator all --profile prod",
                "express-path explain subnet-1 --region us-east-1",
            ],
        ),
    ],
    ids=["default", "dump", "example", "live", "organization", "aggregator"],
)
def test_commands_have_the_options_of_the_scan(options: ScanOptions, commands: list[str]) -> None:
    """Each command reads the same network, and can be pasted; explain and heal name the Region of their row."""
    assert printed(options) == commands
    assert printed(options, lists_subnets=True) == commands[1:]
    assert all(map(accepted, [*commands, options.report()]))


def test_explain_of_a_dump_selects_the_region_of_its_subnet() -> None:
    """A scan may read several Regions of a dump, and explain takes one."""
    source = Source(Path("dump"), live=LiveOptions(regions=("eu-west-1", "us-east-1")))
    explain = printed(ScanOptions(source))[1]
    assert explain == "express-path explain subnet-1 --region us-east-1 --from-dump dump"


def test_without_work_there_is_no_command() -> None:
    """A dropped subnet, or one whose route table is unknown, can be explained, but not healed."""
    commands = [step.command for step in ScanOptions().next_commands(worklist([DROPPED]), lists_subnets=False)]
    assert commands == ["express-path scan --show DROPPED", "express-path explain subnet-3 --region us-east-1"]
    unknown_table = replace(FLAGGED, route_table_id=None)
    purposes = [step.purpose for step in ScanOptions().next_commands(worklist([unknown_table]), lists_subnets=False)]
    assert not any("heal" in purpose for purpose in purposes)
    assert list(ScanOptions().next_commands(worklist([COMPLIANT]), lists_subnets=False)) == []
