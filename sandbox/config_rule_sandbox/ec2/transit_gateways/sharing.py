"""Transit gateways of other accounts, shared through AWS Resource Access Manager."""

from moto.ec2.models import ec2_backends
from moto.ram.models import ram_backends

from config_rule_sandbox.dynamic import Moto


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
