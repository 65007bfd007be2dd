"""The NATs on flagged paths: what each is, whose, and which subnets send S3 Express traffic through it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from express_path.domain.network.resources import NatGateway
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.network.targets import TargetKind
from express_path.domain.path.outcomes import Hop, TracedAddresses
from express_path.domain.path.reasons import NAT_REASONS
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.result import View, is_flagged

_NATS = (TargetKind.NAT_GATEWAY, TargetKind.NETWORK_INTERFACE)


class NatKind(StrEnum):
    """What a NAT is; CloudWatch has NAT metrics of the gateways alone."""

    ZONAL = "zonal NAT gateway"
    REGIONAL = "regional NAT gateway"
    PRIVATE = "private NAT gateway"
    UNLISTED = "NAT gateway"
    INSTANCE = "NAT instance"


@dataclass(frozen=True)
class FlaggedNat:
    """A NAT that S3 Express traffic of flagged subnets crosses.

    id is that of the gateway, or of a NAT instance's network interface. account_id is its owner's, None where nobody
    whose network was read lists it; gateway is None then, and for a NAT instance. subnet_ids and route_table_ids are
    sorted: those subnets' tables in force.
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
        """How what fails of it is named."""
        return f"{self.id} {self.region}"


def flagged_nats(views: Sequence[View], verdicts: Iterable[Verdict]) -> list[FlaggedNat]:
    """Every NAT that any S3 Express address of a flagged subnet is led through, by Region and id.

    A verdict names one path; here all count, as where zones or prefixes use several NATs.
    """
    by_place = {(view.account.id, view.region): view for view in views}
    users: dict[tuple[str, Hop], list[Verdict]] = defaultdict(list)
    snapshots: dict[str, Snapshot] = {}
    for verdict in filter(is_flagged, verdicts):
        view = by_place[verdict.account_id, verdict.region]
        snapshots[verdict.region] = view.tracer.snapshot
        for hop in _nats_of(view, verdict.subnet_id):
            users[verdict.region, hop].append(verdict)
    found = [_described(snapshots[region], hop, used_by) for (region, hop), used_by in users.items()]
    return sorted(found, key=lambda each: (each.region, each.id))


def _nats_of(view: View, subnet_id: str) -> set[Hop]:
    """The NATs, each with its route's destination left out, so that it is the same from everywhere."""
    subnet = view.tracer.snapshot.subnets[subnet_id]
    table = view.tracer.governing_table(subnet)
    return {
        hop._replace(destination="")
        for hop in _nat_hops(view.tracer.trace_subnet(table, subnet).results if table else ())
    }


def _nat_hops(paths: Iterable[TracedAddresses]) -> Iterator[Hop]:
    """The NAT of each path that crosses one: its last hop that can be one, as appliances come before."""
    for traced in paths:
        for outcome in traced.outcomes:
            if outcome.reason in NAT_REASONS:
                yield next(hop for hop in reversed(outcome.path) if hop.kind in _NATS)


def _described(snapshot: Snapshot, hop: Hop, users: Sequence[Verdict]) -> FlaggedNat:
    gateway = snapshot.nat_gateways.get(hop.id)
    if hop.kind is TargetKind.NAT_GATEWAY:
        kind, vpc_id = _kind(gateway), gateway.vpc_id if gateway else None
    else:
        interface = (snapshot.network_interfaces or {})[hop.id]
        kind, vpc_id = NatKind.INSTANCE, snapshot.subnets[interface.subnet_id].vpc_id
    # Only a VPC's owner makes NAT gateways there: https://docs.aws.amazon.com/vpc/latest/userguide/vpc-sharing.html
    vpc = snapshot.vpcs.get(vpc_id or "")
    return FlaggedNat(
        hop.id,
        kind,
        snapshot.region,
        vpc.owner_id or None if vpc else None,
        vpc_id,
        tuple(sorted({each.subnet_id for each in users})),
        tuple(sorted({each.route_table_id for each in users if each.route_table_id})),
        gateway,
    )


def _kind(gateway: NatGateway | None) -> NatKind:
    if gateway is None:
        return NatKind.UNLISTED
    if gateway.connectivity == "private":
        return NatKind.PRIVATE
    return NatKind.REGIONAL if gateway.availability_mode == "regional" else NatKind.ZONAL
