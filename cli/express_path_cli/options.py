"""The options that several commands share."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from express_path.domain.verdict.parameters import PARAMETERS, RuleParameters, parse_parameters
from express_path.errors import ParameterError
from express_path_cli.groups import Made
from express_path_cli.problems import OptionError
from express_path_cli.sources.live import LiveOptions
from express_path_cli.sources.source import Source

_WHERE = "Where to look"
HOW = "How to show it"
"""The panel of --help for what a command writes."""

FromDump = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Read a dump (express-path collect) instead of AWS.", rich_help_panel=_WHERE),
]
Regions = Annotated[
    list[str] | None,
    typer.Option("--region", metavar="REGION", help="A Region to read; repeatable.", rich_help_panel=_WHERE),
]
Region = Annotated[
    str | None,
    typer.Option(metavar="REGION", help="The Region; else that of your AWS settings.", rich_help_panel=_WHERE),
]
AllRegions = Annotated[
    bool,
    typer.Option("--all-regions", help="Every enabled Region that offers S3 Express.", rich_help_panel=_WHERE),
]
Profile = Annotated[
    str | None, typer.Option(metavar="NAME", help="The profile of your AWS settings.", rich_help_panel=_WHERE)
]
Organization = Annotated[
    bool,
    typer.Option("--organization", help="Every active account of the organization.", rich_help_panel=_WHERE),
]
RoleName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="With --organization: the role to read each account with.", rich_help_panel=_WHERE
    ),
]
AggregatorName = Annotated[
    str | None,
    typer.Option(
        "--aggregator",
        metavar="NAME",
        help="Read this AWS Config aggregator instead: every account, no role, limited to what the aggregator records.",
        rich_help_panel=_WHERE,
    ),
]
HiddenDump = Annotated[Path | None, typer.Option("--from-dump", hidden=True)]
HiddenAggregator = Annotated[str | None, typer.Option("--aggregator", hidden=True)]
"""Options that other commands have, hidden where they lead nowhere: whoever gives them is told why."""
ExternalId = Annotated[
    str, typer.Option(metavar="ID", help="The external id that roles ask for.", rich_help_panel=_WHERE)
]
Workers = Annotated[
    int,
    typer.Option(
        min=1, max=64, metavar="NUMBER", help="How many accounts and Regions to read at once.", rich_help_panel=_WHERE
    ),
]


def _names() -> list[str]:
    """The beginnings of rule parameters that a shell completes."""
    return [f"{name}=" for name in PARAMETERS]


Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        metavar="NAME=VALUE",
        autocompletion=_names,
        help="A rule parameter, such as publicSubnets=NON_COMPLIANT; repeatable.",
        rich_help_panel="What to decide",
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No progress and no notes; errors are still told.", rich_help_panel=HOW),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write there, not to the terminal.", rich_help_panel=HOW),
]


def as_written(named: Mapping[str, str | None]) -> str:
    """Options that have a value, as they go on behind a command that people copy into their shell."""
    return "".join(f" {name} {shlex.quote(value)}" for name, value in named.items() if value)


def live_of(
    *,
    region: Regions = None,
    all_regions: AllRegions = False,
    profile: Profile = None,
    organization: Organization = False,
    role_name: RoleName = None,
    external_id: ExternalId = "",
    workers: Workers = 8,
) -> LiveOptions:
    """Which live accounts and Regions to read."""
    regions = tuple(dict.fromkeys(region or ()))
    return LiveOptions(regions, all_regions, profile, organization, role_name, external_id, workers)


Live = Annotated[LiveOptions, Made(live_of)]


def source_of(*, from_dump: FromDump = None, aggregator: AggregatorName = None, live: Live) -> Source:
    """Where to look for whole networks. Raises OptionError for options that cannot be used together."""
    return Source(from_dump, aggregator, live)


def metered_source_of(*, from_dump: HiddenDump = None, aggregator: HiddenAggregator = None, live: Live) -> Source:
    """Where to look for networks and for what crossed them, which live accounts alone can tell. Raises OptionError."""
    if from_dump or aggregator:
        raise OptionError(
            f"{'--from-dump' if from_dump else '--aggregator'} holds no CloudWatch metrics",
            "leave it out; --organization --role-name reads every account",
        )
    return Source(live=live)


def parameters_of(*, parameter: Parameters = None) -> RuleParameters:
    """Rule parameters out of name=value. Raises ParameterError."""
    values: dict[str, str] = {}
    for pair in parameter or ():
        name, separator, value = pair.partition("=")
        if not separator:
            raise ParameterError(pair, "", "name=value, such as publicSubnets=NON_COMPLIANT")
        if name in values:
            raise ParameterError(name, value, "given once")
        values[name] = value
    return parse_parameters(values)


Asked = Annotated[RuleParameters, Made(parameters_of)]
"""A command's rule parameters."""
Where = Annotated[Source, Made(source_of)]
"""Where a command looks, if it can look at several accounts and Regions."""
WhereMetered = Annotated[Source, Made(metered_source_of)]
"""Where a command looks that needs CloudWatch, too."""
