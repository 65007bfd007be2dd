"""Measure the S3 Express share of NAT gateways' traffic from flow logs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from express_path.domain.network.addresses import Cidr, Family
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.nat.crossed_nats import OwnedNats
from express_path_cli.nat.metrics import Series
from express_path_cli.nat.prices import Price
from express_path_cli.sources.network import View
from express_path_cli.terminal.errors import Failure, OptionError
from express_path_cli.traffic.charges import Measured, TimeWindow, charged_bytes, measured
from express_path_cli.traffic.costing import NatCost
from express_path_cli.traffic.flow_logs import (
    LogGroup,
    Reading,
    read_express_bytes,
    read_log_group,
    read_nat_placements,
)
from express_path_cli.traffic.flow_records import FlowLog, NatPlacement, NotRecordedError, recording


@dataclass(frozen=True, slots=True)
class ExpressBytes:
    """The S3 Express bytes of one NAT gateway during a window; complete: no record is known to be missing."""

    bytes: float
    window: TimeWindow
    complete: bool


@dataclass(frozen=True, slots=True)
class Measurement:
    """The S3 Express bytes by NAT gateway, the bytes scanned, and the gateways that flow logs do not record."""

    by_gateway: Mapping[str, ExpressBytes]
    bytes_scanned: float
    not_recorded: Sequence[NotRecordedError] = ()


class _RecordedPart(NamedTuple):
    """What the records of some NAT gateways contain, and when; one query reads all gateways with the same part."""

    fields: tuple[str, ...]
    window: TimeWindow


def express_blocks(views: Sequence[View], region: str) -> tuple[Cidr, ...]:
    """Return the IPv4 blocks of S3 Express in a Region; NAT gateways translate to no others. Raise OptionError."""
    snapshot = next(view.tracer.snapshot for view in views if view.region == region)
    lists = [prefix_list for prefix_list in snapshot.express_prefix_lists if prefix_list.family is Family.IPV4]
    blocks = tuple(block for prefix_list in lists for block in prefix_list.cidrs or ())
    if not blocks:
        raise OptionError(
            f"the S3 Express prefix list of {region} could not be read",
            f"allow ec2:DescribePrefixLists in account {snapshot.account_id}",
        )
    return blocks


def measure(
    log_group: str, owned_nats: Sequence[OwnedNats], views: Sequence[View], during: TimeWindow, task_pool: TaskPool
) -> Measurement:
    """Measure the NAT gateways of each account and Region; failures are added to the task pool's."""
    by_gateway: dict[str, ExpressBytes] = {}
    bytes_scanned = 0.0
    task = partial(_measure_owned, log_group, views, during)
    for owned, measurement in task_pool.run(owned_nats, task, lambda owned: f"{owned}: flow logs"):
        by_gateway |= measurement.by_gateway
        bytes_scanned += measurement.bytes_scanned
        task_pool.failures += [
            Failure(f"{error.nat_gateway_id} {owned.owner.aws.region}", error) for error in measurement.not_recorded
        ]
    return Measurement(by_gateway, bytes_scanned)


def _measure_owned(log_group: str, views: Sequence[View], during: TimeWindow, owned: OwnedNats) -> Measurement:
    aws = owned.owner.aws
    blocks = express_blocks(views, aws.region)
    group = read_log_group(aws, log_group)
    placements = read_nat_placements(aws, [nat.id for nat in owned.nats])
    recorded: dict[_RecordedPart, list[NatPlacement]] = defaultdict(list)
    not_recorded = []
    for nat in owned.nats:
        try:
            placement = placements.get(nat.id, NatPlacement(nat.id, (), "", ""))
            flow_log = recording(placement, log_group, group.flow_logs)
            window = _recorded_window(placement, group, flow_log, during)
            recorded[_RecordedPart(flow_log.fields, window)].append(placement)
        except NotRecordedError as error:
            not_recorded.append(error)
    by_gateway: dict[str, ExpressBytes] = {}
    bytes_scanned = 0.0
    for (fields, window), batch in recorded.items():
        interfaces = [interface_id for placement in batch for interface_id in placement.interface_ids]
        reading = read_express_bytes(aws, log_group, fields, interfaces, blocks, window)
        bytes_scanned += reading.bytes_scanned
        by_gateway |= {
            placement.nat_gateway_id: _express_bytes(placement, fields, reading, window) for placement in batch
        }
    return Measurement(by_gateway, bytes_scanned, not_recorded)


def _recorded_window(placement: NatPlacement, group: LogGroup, flow_log: FlowLog, during: TimeWindow) -> TimeWindow:
    """Return the part of a window that has records. Raise NotRecordedError if there is none."""
    since = max(flow_log.created, group.kept_since)
    window = during.since(since)
    if not window.days:
        why = f"its records do not start until {since:%Y-%m-%d %H:%M} UTC"
        raise NotRecordedError(placement.nat_gateway_id, group.name, why)
    return window


def _express_bytes(
    placement: NatPlacement, fields: Sequence[str], reading: Reading, window: TimeWindow
) -> ExpressBytes:
    complete = "log-status" in fields and not reading.skipped_interfaces & {*placement.interface_ids}
    total = sum(reading.bytes_by_interface.get(interface_id, 0) for interface_id in placement.interface_ids)
    return ExpressBytes(total, window, complete)


def with_measurement(costs: Sequence[NatCost], by_gateway: Mapping[str, ExpressBytes]) -> list[NatCost]:
    """Return the costs with the measured S3 Express part of those NAT gateways that have one."""
    return [
        replace(cost, measured=_measured(by_gateway[cost.nat.id], cost.price, cost.series or ()))
        if cost.price and cost.nat.id in by_gateway
        else cost
        for cost in costs
    ]


def _measured(express: ExpressBytes, price: Price, series: Sequence[Series]) -> Measured:
    """Return the cost of S3 Express bytes; the share is of the bytes charged in the same hours."""
    charged = charged_bytes(series, express.window)
    return measured(express.bytes, charged, price, express.window, complete=express.complete)
