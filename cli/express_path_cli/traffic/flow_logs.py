"""What flow logs show of S3 Express traffic at NAT gateways: the right flow log of each, so that each byte is counted once.

Traffic through a zonal NAT gateway has four records at its network interface: from the client, to the destination, and
both directions back. In srcaddr and dstaddr, one side is always the NAT gateway itself, so S3 Express addresses are
only in the second and the third record, while pkt-srcaddr and pkt-dstaddr would have them in all four
(https://docs.aws.amazon.com/vpc/latest/userguide/flow-logs-records-examples.html, traffic through a NAT gateway).
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from express_path.adapters.aws import Aws, calling, filtered, pages
from express_path.domain.network.addresses import Cidr, Family
from express_path.errors import ApiError, ExpressPathError
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.nat.crossed_nats import OwnedNats
from express_path_cli.nat.prices import TimeWindow
from express_path_cli.sources.network import View
from express_path_cli.terminal.errors import Failure, OptionError

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient


NEEDED = ("interface-id", "srcaddr", "dstaddr", "bytes")


class NotRecordedError(ExpressPathError):
    """A NAT gateway's S3 Express traffic cannot be determined from a log group."""

    def __init__(self, nat_gateway_id: str, log_group: str, why: str) -> None:
        """Keep the NAT gateway, the log group and the cause."""
        self.nat_gateway_id, self.log_group, self.why = nat_gateway_id, log_group, why
        super().__init__(f"its S3 Express traffic cannot be measured from log group {log_group}: {why}")


@dataclass(frozen=True, slots=True)
class FlowLog:
    """A flow log: the resource and traffic that it records, the fields of its records in order, and its creation."""

    id: str
    resource_id: str
    traffic_type: str
    fields: tuple[str, ...]
    created: datetime


@dataclass(frozen=True, slots=True)
class NatPlacement:
    """The network interfaces, subnet and VPC of a NAT gateway; a regional one has no interface."""

    nat_gateway_id: str
    interface_ids: tuple[str, ...]
    subnet_id: str
    vpc_id: str


def recording(placement: NatPlacement, log_group: str, flow_logs: Iterable[FlowLog]) -> FlowLog:
    """Return the one flow log of a log group that records a NAT gateway's accepted traffic.

    Raise NotRecordedError, also if there are several: the log group then has every byte several times.
    """
    recorded = {*placement.interface_ids, placement.subnet_id, placement.vpc_id}
    logs = [log for log in flow_logs if log.resource_id in recorded and log.traffic_type != "REJECT"]
    why = _why_not(placement, logs)
    if why:
        raise NotRecordedError(placement.nat_gateway_id, log_group, why)
    return logs[0]


def _why_not(placement: NatPlacement, found: Sequence[FlowLog]) -> str:
    if not placement.interface_ids:
        return "a regional NAT gateway has no network interface, and AWS does not document how flow logs identify it"
    if not found:
        return f"no flow log of {placement.vpc_id}, {placement.subnet_id} or its network interface publishes to it"
    if len(found) > 1:
        return f"{' and '.join(sorted(log.id for log in found))} publish to it, so bytes would count more than once"
    missing = [field for field in NEEDED if field not in found[0].fields]
    return f"the format of {found[0].id} lacks {', '.join(missing)}" if missing else ""


POLL_SECONDS = 1.0
TIMEOUT_SECONDS = 900.0
"""How long a query may take; CloudWatch Logs itself stops it after 60 minutes."""
_INTERFACES = 50
"""The interfaces of one query, so that its text stays below StartQuery's limit of 10,000 characters."""
_UNFINISHED = frozenset({"Scheduled", "Running"})


@dataclass(frozen=True, slots=True)
class LogGroup:
    """A log group: the flow logs that publish to it, and the time of its earliest record."""

    name: str
    flow_logs: tuple[FlowLog, ...]
    kept_since: datetime


@dataclass(frozen=True, slots=True)
class Reading:
    """The bytes of each interface with traffic, the interfaces with skipped records, and the bytes scanned."""

    bytes_by_interface: Mapping[str, float]
    skipped_interfaces: frozenset[str]
    bytes_scanned: float


def read_log_group(aws: Aws, name: str) -> LogGroup:
    """Read a log group. Raise ApiError, also if there is none of that name."""
    rows = pages(aws.client("logs"), "logs", "describe_log_groups", "logGroups", logGroupNamePrefix=name)
    group = next((row for row in rows if row["logGroupName"] == name), None)
    if group is None:
        raise ApiError("logs:DescribeLogGroups", "ResourceNotFoundException", f"{aws.region} has no log group {name}")
    kept_since = datetime.fromtimestamp(group["creationTime"] / 1000, UTC)
    if group.get("retentionInDays"):
        kept_since = max(kept_since, datetime.now(UTC) - timedelta(days=group["retentionInDays"]))
    by_log_group = [{"Name": "log-group-name", "Values": [name]}]
    flow_logs = pages(aws.ec2, "ec2", "describe_flow_logs", "FlowLogs", Filter=by_log_group)
    return LogGroup(name, tuple(_flow_log(row) for row in flow_logs), kept_since)


def _flow_log(row: Mapping[str, Any]) -> FlowLog:
    fields = tuple(field.strip("${}") for field in row["LogFormat"].split())
    return FlowLog(row["FlowLogId"], row["ResourceId"], row.get("TrafficType", "ALL"), fields, row["CreationTime"])


def read_nat_placements(aws: Aws, gateway_ids: Sequence[str]) -> dict[str, NatPlacement]:
    """Read the placement of NAT gateways of this account and Region, by id, without deleted ones. Raise ApiError."""
    rows = filtered(aws.ec2, "describe_nat_gateways", "NatGateways", "nat-gateway-id", gateway_ids)
    return {row["NatGatewayId"]: _placement(row) for row in rows}


def _placement(row: Mapping[str, Any]) -> NatPlacement:
    interfaces = {address.get("NetworkInterfaceId") for address in row.get("NatGatewayAddresses", [])}
    return NatPlacement(
        nat_gateway_id=row["NatGatewayId"],
        interface_ids=tuple(sorted(interface for interface in interfaces if interface)),
        subnet_id=row.get("SubnetId") or "",
        vpc_id=row.get("VpcId") or "",
    )


def read_express_bytes(
    aws: Aws,
    log_group: str,
    fields: Sequence[str],
    interfaces: Sequence[str],
    cidrs: Sequence[Cidr],
    during: TimeWindow,
) -> Reading:
    """Read the bytes between interfaces and S3 Express during a window, both directions, each byte once.

    fields: those of the records, in order. Raise ApiError if a query fails or does not complete.
    """
    totals: dict[str, float] = {}
    skipped: set[str] = set()
    scanned = 0.0
    for first in range(0, len(interfaces), _INTERFACES):
        text = query_text(fields, interfaces[first : first + _INTERFACES], cidrs)
        answer = _run(aws, log_group, text, during)
        scanned += answer.get("statistics", {}).get("bytesScanned", 0.0)
        for row in _rows(answer):
            if row.get("x_log_status") == "SKIPDATA":
                skipped.add(row["x_interface_id"])
            else:
                totals[row["x_interface_id"]] = totals.get(row["x_interface_id"], 0) + float(row.get("total", 0))
    return Reading(totals, frozenset(skipped), scanned)


def query_text(fields: Sequence[str], interfaces: Iterable[str], cidrs: Iterable[Cidr]) -> str:
    """Return the query. It parses the fields of each record, since those of a custom format are not discovered.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-operations-functions.html and, for custom
    formats, https://repost.aws/knowledge-center/cloudwatch-vpc-flow-logs. Their names begin with x_ to differ from
    those of discovered fields.
    """
    names = [f"x_{field.replace('-', '_')}" for field in fields]
    quoted = ", ".join(f'"{interface}"' for interface in interfaces)
    express = " or ".join(f'isIpv4InSubnet({end}, "{cidr}")' for cidr in cidrs for end in ("x_srcaddr", "x_dstaddr"))
    condition = f"({express})"
    if "action" in fields:
        condition += ' and x_action = "ACCEPT"'
    total_by = "x_interface_id"
    if "log-status" in fields:
        condition = f'({condition}) or x_log_status = "SKIPDATA"'
        total_by += ", x_log_status"
    return "\n| ".join(
        [
            f'parse @message "{" ".join("*" for _ in names)}" as {", ".join(names)}',
            f"filter x_interface_id in [{quoted}]",
            f"filter {condition}",
            f"stats sum(x_bytes) as total by {total_by}",
        ]
    )


def _run(aws: Aws, log_group: str, text: str, during: TimeWindow) -> Mapping[str, Any]:
    logs: CloudWatchLogsClient = aws.client("logs")
    with calling("logs:StartQuery"):
        query_id = logs.start_query(
            logGroupName=log_group,
            startTime=int(during.start.timestamp()),
            endTime=int(during.end.timestamp()) - 1,  # the end is included (botocore model: logs StartQuery)
            queryString=text,
            limit=10_000,
        )["queryId"]
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        with calling("logs:GetQueryResults"):
            answer = logs.get_query_results(queryId=query_id)
        if answer["status"] == "Complete":
            return answer
        unfinished = answer["status"] in _UNFINISHED
        if not unfinished or time.monotonic() > deadline:
            if unfinished:
                _stop(logs, query_id)
            message = f"query {query_id} did not complete; use fewer --days"
            raise ApiError("logs:GetQueryResults", answer["status"], message)
        time.sleep(POLL_SECONDS)


def _stop(logs: "CloudWatchLogsClient", query_id: str) -> None:
    """Stop a query, since AWS charges for what it scans."""
    with calling("logs:StopQuery"):
        logs.stop_query(queryId=query_id)


def _rows(answer: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for row in answer["results"]:
        yield {cell["field"]: cell["value"] for cell in row}


@dataclass(frozen=True, slots=True)
class ExpressBytes:
    """The S3 Express bytes of one NAT gateway during a window; complete: no record is known to be missing."""

    bytes: float
    window: TimeWindow
    complete: bool


@dataclass(frozen=True, slots=True)
class FlowLogMeasurement:
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
) -> FlowLogMeasurement:
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
    return FlowLogMeasurement(by_gateway, bytes_scanned)


def _measure_owned(log_group: str, views: Sequence[View], during: TimeWindow, owned: OwnedNats) -> FlowLogMeasurement:
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
    return FlowLogMeasurement(by_gateway, bytes_scanned, not_recorded)


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
