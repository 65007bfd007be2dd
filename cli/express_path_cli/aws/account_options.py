"""The options that say in which accounts and Regions a command reads or acts. Commands share them as one parameter."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any

from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions

_Command = Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneAccount:
    """One account and Region."""

    region: options.Region = None
    profile: options.Profile = None

    def command_line(self) -> str:
        """Return them to append to a command that people copy into their shell."""
        return options.as_command_line({"--region": self.region, "--profile": self.profile})


@dataclass(frozen=True, kw_only=True)
class ManyRegions:
    """Some or all Regions, and how to sign in."""

    region: options.Regions = None
    all_regions: options.AllRegions = False
    profile: options.Profile = None
    external_id: options.ExternalId = ""


@dataclass(frozen=True, kw_only=True)
class ManyAccounts(ManyRegions):
    """One account, or all of an organization."""

    organization: options.AllAccounts = False
    role_name: options.RoleName = None

    @property
    def live(self) -> LiveOptions:
        """What they select."""
        return LiveOptions(
            regions=options.unique(self.region),
            all_regions=self.all_regions,
            profile=self.profile,
            organization=self.organization,
            role_name=self.role_name,
            external_id=self.external_id,
        )


@dataclass(frozen=True, kw_only=True)
class DeploymentAccounts(ManyAccounts):
    """Where to look for deployments: in an account and Region, or in an organization or a part of it."""

    ou: options.OuIds = None
    account: options.AccountIds = None
    workers: options.Workers = 32

    @property
    def live(self) -> LiveOptions:
        """What they select."""
        return replace(
            super().live, workers=self.workers, ou_ids=tuple(self.ou or ()), account_ids=tuple(self.account or ())
        )


@dataclass(frozen=True, kw_only=True)
class MemberAccounts(ManyRegions):
    """Accounts of an organization."""

    role_name: Annotated[str, options.where(metavar="NAME", help="The role that reads each account.")]
    ou: options.OuIds = None
    workers: options.Workers = 8

    @property
    def live(self) -> LiveOptions:
        """What they select."""
        return LiveOptions(
            regions=options.unique(self.region),
            all_regions=self.all_regions,
            profile=self.profile,
            organization=True,
            role_name=self.role_name,
            external_id=self.external_id,
            workers=self.workers,
            ou_ids=tuple(self.ou or ()),
        )


def taking(**records: type) -> Callable[[_Command], _Command]:
    """Give a command the options that are the fields of records, in place of its parameters of these names."""

    def with_options(command: _Command) -> _Command:
        @wraps(command)
        def run(**given: Any) -> None:  # noqa: ANN401  # the options have their own types
            made = {}
            for name, record in records.items():
                made[name] = record(**{field: given.pop(field) for field in signature(record).parameters})
            command(**made, **given)

        parameters: list[Parameter] = []
        for parameter in signature(command).parameters.values():
            if parameter.name in records:
                parameters += signature(records[parameter.name]).parameters.values()
            else:
                parameters.append(parameter)
        # Typer reads the options of a command from its signature.
        run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return with_options
