"""The options that several commands share, and the functions that turn their values into what the commands need."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from express_path.domain.verdict.parameters import PARAMETERS, RuleParameters, parse_parameters
from express_path.errors import ParameterError
from express_path_cli.terminal.errors import OptionError, note_profile

_ROLE_NAME = re.compile(r"(?!arn:)([!-.0-~]+/)*[\w+=,.@-]{1,64}", re.ASCII)
"""An optional path and a name (https://docs.aws.amazon.com/IAM/latest/APIReference/API_Role.html)."""


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """Which accounts and Regions to read, and how many in parallel. The default Region is that of the AWS settings.

    ou_ids, account_ids: only these of the organization; everything if empty.
    """

    regions: tuple[str, ...] = ()
    all_regions: bool = False
    profile: str | None = None
    organization: bool = False
    role_name: str | None = None
    external_id: str = ""
    workers: int = 8
    ou_ids: tuple[str, ...] = ()
    account_ids: tuple[str, ...] = ()

    def given(self) -> list[str]:
        """Return the names of the given options that need live accounts."""
        options = {
            "--all-regions": self.all_regions,
            "--profile": self.profile,
            "--organization": self.organization,
            "--role-name": self.role_name,
            "--external-id": self.external_id,
        }
        return [name for name, value in options.items() if value]

    def options(self) -> list[str]:
        """Return the options on the command line that select these accounts and Regions."""
        flags = {"--all-regions": self.all_regions, "--organization": self.organization}
        values = {
            "--region": self.regions,
            "--profile": [self.profile],
            "--role-name": [self.role_name],
            "--external-id": [self.external_id],
            "--ou": self.ou_ids,
            "--account": self.account_ids,
        }
        words = [word for option, given in values.items() for value in given if value for word in (option, value)]
        return [*(flag for flag, is_given in flags.items() if is_given), *words]

    def check(self) -> None:
        """Raise OptionError if the options cannot be used together."""
        if self.regions and self.all_regions:
            raise OptionError("--region and --all-regions cannot be used together", "leave one of them out")
        if self.organization and not self.role_name:
            raise OptionError("--organization needs a role to read each account with", "add --role-name NAME")
        if (self.ou_ids or self.account_ids) and not self.organization:
            raise OptionError("--ou and --account need --organization", "add --organization, or leave them out")
        if self.role_name and not self.organization:
            raise OptionError(
                "--role-name needs --organization", "add --organization, or use a --profile that assumes the role"
            )
        if self.role_name and not _ROLE_NAME.fullmatch(self.role_name):
            raise OptionError(
                f"--role-name {self.role_name}: not a valid role name",
                "use the role's name, with its path if it has one, such as Audit or audit/Reader, not its ARN",
            )


where = partial(typer.Option, rich_help_panel="Where to look")
what = partial(typer.Option, rich_help_panel="What to decide")
how = partial(typer.Option, rich_help_panel="How to show it")
"""An option in a panel of --help."""


FromDump = Annotated[
    Path | None,
    where(metavar="DIR", help="Read a dump that `express-path collect` wrote, instead of AWS."),
]
FromScan = Annotated[
    Path | None,
    where("--from", metavar="FILE", help="Read the JSON document of an earlier scan, instead of AWS."),
]
Example = Annotated[
    bool,
    where("--example", help="Read the sample network that is installed with express-path, instead of AWS."),
]
Regions = Annotated[
    list[str] | None,
    where("--region", metavar="REGION", help="A Region to read; repeatable."),
]
Region = Annotated[
    str | None,
    where(metavar="REGION", help="The Region. Default: the one in your AWS settings."),
]
AllRegions = Annotated[
    bool,
    where("--all-regions", help="Every enabled Region that offers S3 Express."),
]
Profile = Annotated[
    str | None,
    where(callback=note_profile, metavar="NAME", help="The profile of your AWS settings."),
]
AllAccounts = Annotated[
    bool,
    where("--organization", help="Every active account of the organization."),
]
RoleName = Annotated[
    str | None,
    where(metavar="NAME", help="With --organization: the role to assume in each account."),
]
OuIds = Annotated[
    list[str] | None,
    where(
        "--ou",
        metavar="OU-ID",
        help="Only the accounts of this organizational unit and of those inside it; repeatable.",
    ),
]
AccountIds = Annotated[
    list[str] | None,
    where("--account", metavar="ID", help="With --organization: only this account; repeatable."),
]
AggregatorName = Annotated[
    str | None,
    where(
        "--aggregator",
        metavar="NAME",
        help="Read this AWS Config aggregator instead: every account, without a role, but only what AWS Config records.",
    ),
]
ExternalId = Annotated[str, where(metavar="ID", help="The external ID that the roles require.")]
Workers = Annotated[
    int,
    where(min=1, max=64, metavar="NUMBER", help="How many accounts and Regions to read in parallel."),
]


def _complete_parameter() -> list[str]:
    """Return what a shell completes --parameter to."""
    return [f"{name}=" for name in PARAMETERS]


Parameters = Annotated[
    list[str] | None,
    what(
        "--parameter",
        metavar="NAME=VALUE",
        autocompletion=_complete_parameter,
        help="A rule parameter, such as publicSubnets=NON_COMPLIANT; repeatable.",
    ),
]
Quiet = Annotated[
    bool,
    how("--quiet", "-q", help="Do not show progress or notes. Errors are still shown."),
]
Output = Annotated[
    Path | None,
    how("--output", "-o", metavar="FILE", help="Write to this file, not the terminal."),
]


class TextFormat(StrEnum):
    """The output formats of a command that prints sentences."""

    TEXT = "text"
    JSON = "json"


class TableFormat(StrEnum):
    """The output formats of a command that prints tables."""

    TABLE = "table"
    JSON = "json"


_FORMAT = how("--format", "-f", help="The output format.")
TextOrJson = Annotated[TextFormat, _FORMAT]
TableOrJson = Annotated[TableFormat, _FORMAT]


def as_command_line(options: Mapping[str, str | None]) -> str:
    """Return the options that have a value, quoted, to append to a command that people copy into their shell."""
    return "".join(f" {name} {shlex.quote(value)}" for name, value in options.items() if value)


def unique(regions: Sequence[str] | None) -> tuple[str, ...]:
    """Return each given Region once, in their order."""
    return tuple(dict.fromkeys(regions or ()))


def rule_parameters(pairs: Sequence[str] | None) -> RuleParameters:
    """Return the rule parameters in NAME=VALUE pairs. Raise ParameterError for one that is not valid."""
    return parse_parameters(parameter_pairs(pairs))


def parameter_pairs(pairs: Sequence[str] | None) -> dict[str, str]:
    """Return the values in NAME=VALUE pairs by name. Raise ParameterError for another form, and for a name twice."""
    values: dict[str, str] = {}
    for pair in pairs or ():
        name, separator, value = pair.partition("=")
        if not separator:
            raise ParameterError(pair, "", "name=value, such as publicSubnets=NON_COMPLIANT")
        if name in values:
            raise ParameterError(name, value, "given once")
        values[name] = value
    return values
