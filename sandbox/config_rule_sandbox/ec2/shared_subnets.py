"""Shared subnets: what a participant account sees of a VPC that another account owns."""

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from moto.core.responses import ActionResult
from moto.ec2.models import ec2_backends
from moto.ec2.responses import EC2Response
from moto.ec2.utils import generic_filter

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.patching.patches import Patches

Listing = Callable[[Moto], list[Moto]]


@dataclass(frozen=True, slots=True)
class Share:
    """One subnet that its owner shares with a participant; both are account ids."""

    owner: str
    participant: str
    region: str
    subnet_id: str


class Sharing:
    """Seeds shares of subnets, in place of AWS Resource Access Manager."""

    def __init__(self, knobs: Knobs) -> None:
        """Keep the shares in the knobs, where the corrected operations read them."""
        self._knobs = knobs

    def share_subnet(
        self, subnet_id: str, participant: str, owner: str = "123456789012", region: str = "us-east-1"
    ) -> None:
        """Share a subnet of `owner` with the account `participant`. InvalidSubnetID.NotFound if it does not exist."""
        ec2_backends[owner][region].get_subnet(subnet_id)
        self._knobs.shares.append(Share(owner, participant, region, subnet_id))


def apply(patches: Patches, knobs: Knobs) -> None:
    """List shared subnets, their VPC and the route tables that they use, with the OwnerId of their owner.

    Participants can describe these, but neither NAT gateways nor VPC endpoints of the owner
    (https://docs.aws.amazon.com/vpc/latest/userguide/vpc-share-limitations.html). Tags are each account's own. Which
    associations of a route table a participant sees is not documented; here, those of the subnets shared with it.
    """

    def listing(ids: str, key: str, method: str, shared: Listing) -> Callable[[Moto], ActionResult]:
        def describe(self: Moto) -> ActionResult:
            views = [view for share in _of(self, knobs.shares) for view in shared(share)]
            return ActionResult({key: _describe(self, ids, method, views)})

        return describe

    for name, ids, key, shared in (
        ("describe_vpcs", "VpcIds", "Vpcs", _vpcs),
        ("describe_subnets", "SubnetIds", "Subnets", _subnets),
        ("describe_route_tables", "RouteTableIds", "RouteTables", _route_tables),
    ):
        patches.set(EC2Response, name, listing(ids, key, name, shared))


@dataclass(frozen=True, slots=True)
class _Seen:
    """The subnets of one owner that one participant sees."""

    owner: Moto
    participant: Moto
    subnet_ids: frozenset[str]

    def view(self, resource: Moto) -> Moto:
        """Return a copy of a resource as the participant sees it: with the owner's id and the participant's tags."""
        seen = copy.copy(resource)
        seen.ec2_backend = _OwnersBackend(self.owner, self.participant)
        return seen


class _OwnersBackend:
    """The owner's backend, but for the tags."""

    def __init__(self, owner: Moto, participant: Moto) -> None:
        self._owner = owner
        self.tags = participant.tags

    def __getattr__(self, name: str) -> Moto:
        return getattr(self._owner, name)


def _of(self: Moto, shares: Iterable[Share]) -> list[_Seen]:
    """Return what the caller of a request sees of each owner."""
    mine = [share for share in shares if (share.participant, share.region) == (self.current_account, self.region)]
    return [
        _Seen(
            ec2_backends[owner][self.region],
            self.ec2_backend,
            frozenset(share.subnet_id for share in mine if share.owner == owner),
        )
        for owner in dict.fromkeys(share.owner for share in mine)
    ]


def _describe(self: Moto, ids: str, method: str, views: list[Moto]) -> list[Moto]:
    """Return the caller's own resources and the shared ones that ids and filters of the request ask for."""
    filters = self._filters_from_querystring()
    wanted = self._get_param(ids, [])
    shared_ids = {view.id for view in views}
    own_ids = [one for one in wanted if one not in shared_ids]
    own: list[Moto] = []
    if own_ids or not wanted:
        own = getattr(self.ec2_backend, method)(own_ids, filters=filters)
    return own + generic_filter(filters, [view for view in views if not wanted or view.id in wanted])


def _subnets(seen: _Seen) -> list[Moto]:
    return [seen.view(subnet) for subnet in seen.owner.describe_subnets() if subnet.id in seen.subnet_ids]


def _vpcs(seen: _Seen) -> list[Moto]:
    vpc_ids = dict.fromkeys(subnet.vpc_id for subnet in _subnets(seen))
    return [seen.view(seen.owner.get_vpc(vpc_id)) for vpc_id in vpc_ids]


def _route_tables(seen: _Seen) -> list[Moto]:
    """Return the tables that the shared subnets use: those associated with them, or else the main one."""
    tables = list(seen.owner.route_tables.values())
    explicit = {target for table in tables for target in table._associations.values()}
    fallback = {subnet.vpc_id for subnet in _subnets(seen) if subnet.id not in explicit}
    views = []
    for table in tables:
        shared = {key: target for key, target in table._associations.items() if target in seen.subnet_ids}
        if shared or (table.main_association_id and table.vpc_id in fallback):
            view = seen.view(table)
            view._associations = shared
            views.append(view)
    return views
