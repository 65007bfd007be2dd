"""The options that select deployments, which several commands share as one parameter."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any

from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions

_Command = Callable[..., None]


def deployments(
    *,
    organization: options.AllAccounts = False,
    role_name: options.RoleName = None,
    ou: options.OuIds = None,
    account: options.AccountIds = None,
    region: options.Regions = None,
    all_regions: options.AllRegions = False,
    profile: options.Profile = None,
    external_id: options.ExternalId = "",
    workers: options.Workers = 32,
) -> LiveOptions:
    """Return where to look for deployments: in an account and Region, or in an organization."""
    return LiveOptions(
        regions=options.unique(region),
        all_regions=all_regions,
        profile=profile,
        organization=organization,
        role_name=role_name,
        external_id=external_id,
        workers=workers,
        ou_ids=tuple(ou or ()),
        account_ids=tuple(account or ()),
    )


def members(
    *,
    role_name: Annotated[str, options.where(metavar="NAME", help="The role that reads each account.")],
    ou: options.OuIds = None,
    region: options.Regions = None,
    all_regions: options.AllRegions = False,
    profile: options.Profile = None,
    external_id: options.ExternalId = "",
    workers: options.Workers = 8,
) -> LiveOptions:
    """Return which accounts of an organization to read."""
    return deployments(
        organization=True,
        role_name=role_name,
        ou=ou,
        region=region,
        all_regions=all_regions,
        profile=profile,
        external_id=external_id,
        workers=workers,
    )


def selecting(select: Callable[..., LiveOptions]) -> Callable[[_Command], _Command]:
    """Give a command the options of `select` in place of its parameter `live`, which gets what `select` returns."""
    selected = signature(select).parameters

    def with_options(command: _Command) -> _Command:
        @wraps(command)
        def run(**given: Any) -> None:  # noqa: ANN401  # the options have their own types
            live = select(**{name: given.pop(name) for name in selected})
            command(live=live, **given)

        parameters: list[Parameter] = []
        for parameter in signature(command).parameters.values():
            parameters += selected.values() if parameter.name == "live" else [parameter]
        # Typer reads the options of a command from its signature.
        run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return with_options
