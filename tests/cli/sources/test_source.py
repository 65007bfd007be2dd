"""The source that the options select."""

from pathlib import Path

import pytest

from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.aws.options import LiveOptions
from express_path_cli.sources.source import Source
from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.progress import Silent
from tests.support.command import invoke
from tests.support.scenarios import dump_of

DUMP = dump_of("two-regions")


def test_regions_choose_among_the_folders_of_a_dump() -> None:
    """--region selects Regions of a dump and refuses one that the dump does not have."""
    views = Source(DUMP).read(RuleParameters(), Silent()).views
    first, second = sorted({view.region for view in views})
    [only] = Source(DUMP, live=LiveOptions((second,))).read(RuleParameters(), Silent()).views
    assert only.region == second
    with pytest.raises(OptionError, match=r"does not contain mx-central-1") as raised:
        Source(DUMP, live=LiveOptions((first, "mx-central-1"))).read(RuleParameters(), Silent())
    assert raised.value.hint == f"it contains {first}, {second}"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (Source(DUMP, "all"), "--from-dump and --aggregator"),
        (Source(DUMP, live=LiveOptions(all_regions=True)), "--from-dump and --all-regions"),
        (Source(DUMP, live=LiveOptions(profile="prod")), "--from-dump and --profile"),
        (Source(DUMP, live=LiveOptions(external_id="7")), "--from-dump and --external-id"),
        (Source(aggregator="all", live=LiveOptions(profile="prod", organization=True)), "--aggregator and --organiz"),
    ],
)
def test_an_option_that_the_source_would_ignore_is_refused(source: Source, says: str) -> None:
    """A dump needs no credentials, and an aggregator has every account."""
    with pytest.raises(OptionError, match=says):
        source.check()
    Source(aggregator="all", live=LiveOptions(("eu-west-1",), profile="prod")).check()


@pytest.mark.parametrize("command", [("scan",), ("explain", "subnet-0a1b2c3d4e5f60718")], ids=" ".join)
def test_every_command_that_reads_dumps_refuses_credentials(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is one line, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    result = invoke([*command, "--from-dump", str(DUMP), "--profile", "prod"])
    assert (result.exit_code, result.stdout, list(tmp_path.iterdir())) == (2, "", [])
    assert result.stderr == "express-path: --from-dump and --profile cannot be used together (leave one of them out)\n"


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        (Source(), "check --region and --profile"),
        (Source(live=LiveOptions(all_regions=True)), "check --profile"),
        (Source(DUMP), "a scan without --vpc lists all subnets with their VPCs"),
    ],
)
def test_a_missing_vpc_gets_a_hint_where_to_search(source: Source, hint: str) -> None:
    """The hint names options that search elsewhere, except those that conflict with the given ones."""
    assert source.elsewhere == hint
