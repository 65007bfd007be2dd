"""The NATs that S3 Express traffic of flagged subnets crosses: kind, owner, the subnets that use them, and access to their metrics."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from express_path.domain.network.resources import NatGateway, TargetKind
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.outcomes import Hop, TracedAddresses, nat_on
from express_path.domain.path.reasons import NAT_REASONS, Compliance
from express_path.domain.verdict.evaluator import Verdict
from express_path.errors import ApiError
from express_path_cli.aws.sessions import AccountRegion
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.sources.network import AccountAccess, View
from express_path_cli.terminal.errors import Failure, OptionError


class NatKind(StrEnum):
    """The kinds of NATs; CloudWatch has NAT metrics for the gateways only."""

    ZONAL = "zonal NAT gateway"
    REGIONAL = "regional NAT gateway"
    PRIVATE = "private NAT gateway"
    UNLISTED = "NAT gateway"
    INSTANCE = "NAT instance"


@dataclass(frozen=True)
class CrossedNat:
    """A NAT that S3 Express traffic of flagged subnets crosses.

    id: of the gateway, or of a NAT instance's network interface. account_id: the owner, None if no network that was
    read has the gateway; gateway is None then, and for a NAT instance. subnet_ids: the flagged subnets, sorted.
    route_table_ids: their route tables, sorted.
    """

    id: str
    kind: NatKind
    region: str
    account_id: str | None
    vpc_id: str | None
    subnet_ids: tuple[str, ...]
    route_table_ids: tuple[str, ...]
    gateway: NatGateway | None = None

    @property
    def where(self) -> str:
        """The name of the NAT in failures."""
        return f"{self.id} {self.region}"

    def fields(self) -> dict[str, Any]:
        """Return its id, kind and owner, and the subnets that send S3 Express traffic through it, for JSON."""
        return {
            "id": self.id,
            "kind": self.kind,
            "accountId": self.account_id,
            "region": self.region,
            "vpcId": self.vpc_id,
            "subnetIds": list(self.subnet_ids),
            "routeTableIds": list(self.route_table_ids),
        }


class _RegionalHop(NamedTuple):
    region: str
    hop: Hop


def crossed_nats(views: Sequence[View], verdicts: Iterable[Verdict]) -> list[CrossedNat]:
    """Return every NAT on the path of any S3 Express address of a flagged subnet, by Region and id.

    A verdict names only one path, but zones or prefixes can use several NATs.
    """
    in_region: dict[str, dict[str, View]] = defaultdict(dict)
    for view in views:
        in_region[view.region][view.account.id] = view
    users: dict[_RegionalHop, list[Verdict]] = defaultdict(list)
    snapshots: dict[str, Snapshot] = {}
    for verdict in (verdict for verdict in verdicts if verdict.compliance is Compliance.NON_COMPLIANT):
        view = in_region[verdict.region][verdict.account_id]
        snapshots[verdict.region] = view.tracer.snapshot
        for hop in _nats_of(view, verdict.subnet_id):
            users[_RegionalHop(verdict.region, hop)].append(verdict)
    nats = [_described(snapshots[used.region], used.hop, used_by) for used, used_by in users.items()]
    return sorted(nats, key=lambda nat: (nat.region, nat.id))


def _nats_of(view: View, subnet_id: str) -> set[Hop]:
    """Return the NATs, without their routes' destinations, so that a NAT is equal on every path."""
    subnet = view.tracer.snapshot.subnets[subnet_id]
    return {hop._replace(destination="") for trace in view.tracer.traces_of(subnet) for hop in _nat_hops(trace.results)}


def _nat_hops(paths: Iterable[TracedAddresses]) -> Iterator[Hop]:
    """Yield the NAT of each path that crosses one."""
    for traced in paths:
        for outcome in traced.outcomes:
            if outcome.reason in NAT_REASONS:
                yield from filter(None, [nat_on(outcome.path)])


def _described(snapshot: Snapshot, hop: Hop, users: Sequence[Verdict]) -> CrossedNat:
    gateway = snapshot.nat_gateways.get(hop.id)
    if hop.kind is TargetKind.NAT_GATEWAY:
        kind, vpc_id = _kind(gateway), gateway.vpc_id if gateway else None
    else:
        interface = (snapshot.network_interfaces or {})[hop.id]
        kind, vpc_id = NatKind.INSTANCE, snapshot.subnets[interface.subnet_id].vpc_id
    # Only a VPC's owner can create NAT gateways there: https://docs.aws.amazon.com/vpc/latest/userguide/vpc-sharing.html
    vpc = snapshot.vpcs.get(vpc_id or "")
    return CrossedNat(
        hop.id,
        kind,
        snapshot.region,
        vpc.owner_id or None if vpc else None,
        vpc_id,
        tuple(sorted({verdict.subnet_id for verdict in users})),
        tuple(sorted({verdict.route_table_id for verdict in users if verdict.route_table_id})),
        gateway,
    )


def _kind(gateway: NatGateway | None) -> NatKind:
    if gateway is None:
        return NatKind.UNLISTED
    if gateway.connectivity == "private":
        return NatKind.PRIVATE
    return NatKind.REGIONAL if gateway.availability_mode == "regional" else NatKind.ZONAL


@dataclass(frozen=True, slots=True)
class OwnedNats:
    """The NAT gateways of one account in one Region."""

    owner: AccountRegion
    nats: tuple[CrossedNat, ...]

    def __str__(self) -> str:
        return str(self.owner)


class _Owner(NamedTuple):
    account_id: str | None
    region: str


def nats_by_owner(nats: Iterable[CrossedNat], access: AccountAccess, task_pool: TaskPool) -> list[OwnedNats]:
    """Return the NAT gateways by owner. Those whose account cannot be accessed are added to the pool's failures."""
    by_owner: dict[_Owner, list[CrossedNat]] = defaultdict(list)
    for nat in nats:
        if nat.kind is not NatKind.INSTANCE:
            by_owner[_Owner(nat.account_id, nat.region)].append(nat)
    owned = []
    for owner, gateways in by_owner.items():
        try:
            aws = access.clients(owner.account_id, owner.region)
        except ApiError as error:
            task_pool.failures += [Failure(nat.where, error) for nat in gateways]
            continue
        if aws and owner.account_id:
            owned.append(OwnedNats(AccountRegion(owner.account_id, aws), tuple(gateways)))
        else:
            task_pool.failures += [Failure(nat.where, _no_access(nat)) for nat in gateways]
    return owned


def _no_access(nat: CrossedNat) -> OptionError:
    owner = f"account {nat.account_id}" if nat.account_id else "an unknown account"
    return OptionError(
        f"its metrics cannot be read from here, because it belongs to {owner}",
        "use --organization --role-name, --parameter networkRoleArn=..., or that account's --profile",
    )
