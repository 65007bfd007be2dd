"""Transit gateways of other accounts, shared through AWS Resource Access Manager; and filters of what is described."""

from collections.abc import Mapping, Sequence
from typing import Any

from moto.ec2.models import ec2_backends
from moto.ram.models import ram_backends

from sandbox.dynamic import Moto
from sandbox.ec2.errors import ApiError


class TransitGateways(dict[str, Moto]):
    """The transit gateways of one account and Region by id; looking one up finds those shared with the account, too."""

    def __init__(self, backend: Moto) -> None:
        """Begin without any."""
        super().__init__()
        self._backend = backend

    def __missing__(self, gateway_id: str) -> Moto:
        """Return a shared transit gateway. KeyError if there is none."""
        for gateway in shared_with(self._backend):
            if gateway.id == gateway_id:
                return gateway
        raise KeyError(gateway_id)

    def get(self, gateway_id: str, default: Moto = None) -> Moto:
        """Return a transit gateway of the account or shared with it, or the default."""
        try:
            return self[gateway_id]
        except KeyError:
            return default

    def __contains__(self, gateway_id: object) -> bool:
        """Return whether the account has a transit gateway or has it shared."""
        return self.get(str(gateway_id)) is not None


def shared_with(backend: Moto) -> list[Moto]:
    """Return the transit gateways that other accounts share with the account of a backend, in its Region.

    A resource share names accounts as principals and takes effect at once, as it does within an organization
    (https://docs.aws.amazon.com/ram/latest/userguide/getting-started-sharing.html). Shares with organizations or
    organizational units are not known here.
    """
    account_id, region = backend.account_id, backend.region_name
    arns = {
        arn
        for owner in list(ram_backends)
        for share in ram_backends[owner][region].resource_shares
        if owner != account_id and share.status == "ACTIVE" and account_id in share.principals
        for arn in share.resource_arns
    }
    return [
        gateway
        for owner in (list(ec2_backends) if arns else [])
        if owner != account_id
        for gateway in ec2_backends[owner][region].transit_gateways.values()
        if gateway.arn in arns
    ]


def matching(self: Moto, rows: Sequence[Mapping[str, Any]], fields: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """Return the rows that every filter of a request fits; fields names the row's field for each filter.

    A dot leads into a field of a field. InvalidParameterValue for a filter that the operation does not have.
    """
    found = list(rows)
    for name, values in self._filters_from_querystring().items():
        if name not in fields:
            raise ApiError("InvalidParameterValue", f"Value ( {name} ) for parameter filter is invalid.")
        found = [row for row in found if _text(row, fields[name]) in values]
    return found


def _text(row: Mapping[str, Any], path: str) -> str:
    value: Any = row
    for name in path.split("."):
        value = (value or {}).get(name)
    return str(value).lower() if isinstance(value, bool) else str(value)
