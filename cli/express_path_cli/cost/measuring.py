"""Measuring by flow logs what of the NAT gateways' traffic is S3 Express's."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from express_path.domain.network.addresses import Cidr, Family
from express_path.domain.network.snapshot import Snapshot
from express_path_cli.cost.charges import Measured, Price, Window, charged_bytes, measured
from express_path_cli.cost.costing import NatCost
from express_path_cli.cost.flow_logs import LogGroup, Reading, read_express_bytes, read_log_group, read_nat_places
from express_path_cli.cost.flow_records import FlowLog, NatPlace, NotRecordedError, recording
from express_path_cli.metrics.series import Series
from express_path_cli.nats_by_owner import OwnedNats
from express_path_cli.problems import OptionError
from express_path_cli.result import Failure, View
from express_path_cli.task_pool import TaskPool


class Share(NamedTuple):
    """The S3 Express bytes of one NAT gateway during a window; whole where no record is known to be missing."""

    bytes: float
    window: Window
    whole: bool


class Shares(NamedTuple):
    """The shares by NAT gateway, the bytes that all queries scanned, and the gateways that no flow log tells of."""

    by_gateway: dict[str, Share]
    bytes_scanned: float
    untold: Sequence[NotRecordedError] = ()


def express_blocks(views: Sequence[View], region: str) -> tuple[Cidr, ...]:
    """The IPv4 blocks of S3 Express in a Region, which alone a NAT gateway translates to. Raises OptionError."""
    snapshot = next(view.tracer.snapshot for view in views if view.region == region)
    lists = [each for each in snapshot.express_prefix_lists if each.family is Family.IPV4]
    blocks = tuple(block for each in lists for block in each.cidrs or ())
    if not blocks:
        raise OptionError(f"the prefix list of S3 Express in {region} is not readable", _allow(snapshot))
    return blocks


def _allow(snapshot: Snapshot) -> str:
    return f"allow ec2:DescribePrefixLists in account {snapshot.account_id}"


def measure(
    log_group: str, places: Sequence[OwnedNats], views: Sequence[View], during: Window, task_pool: TaskPool
) -> Shares:
    """The shares of all places; what fails is kept as the crew's failures."""

    def read(metered: OwnedNats) -> Shares:
        return _measure_place(log_group, metered, express_blocks(views, metered.owner.aws.region), during)

    found: dict[str, Share] = {}
    scanned = 0.0
    for metered, shares in task_pool.run(places, read, lambda metered: f"{metered}: flow logs"):
        found |= shares.by_gateway
        scanned += shares.bytes_scanned
        task_pool.failures += [
            Failure(f"{each.nat_gateway_id} {metered.owner.aws.region}", each) for each in shares.untold
        ]
    return Shares(found, scanned)


def _measure_place(name: str, metered: OwnedNats, blocks: Sequence[Cidr], during: Window) -> Shares:
    aws = metered.owner.aws
    group = read_log_group(aws, name)
    where = read_nat_places(aws, [nat.id for nat in metered.nats])
    told: dict[tuple[tuple[str, ...], Window], list[NatPlace]] = defaultdict(list)
    untold = []
    for nat in metered.nats:
        try:
            at = where.get(nat.id, NatPlace(nat.id, (), "", ""))
            flow_log = recording(at, name, group.flow_logs)
            told[flow_log.fields, _recorded(at, group, flow_log, during)].append(at)
        except NotRecordedError as error:
            untold.append(error)
    found: dict[str, Share] = {}
    scanned = 0.0
    for (fields, window), at_once in told.items():
        interfaces = [each for at in at_once for each in at.interface_ids]
        reading = read_express_bytes(aws, name, fields, interfaces, blocks, window)
        scanned += reading.bytes_scanned
        found |= {at.nat_gateway_id: _share(at, fields, reading, window) for at in at_once}
    return Shares(found, scanned, untold)


def _recorded(at: NatPlace, group: LogGroup, flow_log: FlowLog, during: Window) -> Window:
    """The part of a window of which there are records."""
    since = max(flow_log.created, group.kept_since)
    left = during.since(since)
    if not left.days:
        raise NotRecordedError(at.nat_gateway_id, group.name, f"its records begin only at {since:%Y-%m-%d %H:%M} UTC")
    return left


def _share(at: NatPlace, fields: Sequence[str], reading: Reading, window: Window) -> Share:
    whole = "log-status" in fields and not reading.skipped & {*at.interface_ids}
    return Share(sum(reading.by_interface.get(each, 0) for each in at.interface_ids), window, whole)


def with_shares(costs: Sequence[NatCost], shares: Mapping[str, Share]) -> list[NatCost]:
    """The costs, with what was measured beside what is at most, of the same hours."""
    return [
        replace(each, measured=_measured(shares[each.nat.id], each.price, each.series or ()))
        if each.price and each.nat.id in shares
        else each
        for each in costs
    ]


def _measured(share: Share, price: Price, series: Sequence[Series]) -> Measured:
    return measured(share.bytes, charged_bytes(series, share.window), price, share.window, whole=share.whole)
