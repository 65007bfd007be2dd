"""Asking CloudWatch Logs Insights how much S3 Express traffic the flow logs of NAT gateways hold."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from express_path.adapters.aws import Aws, calling, filtered, pages
from express_path.domain.network.addresses import Cidr
from express_path.errors import ApiError
from express_path_cli.cost.charges import Window
from express_path_cli.cost.flow_records import FlowLog, NatPlace

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient

POLL_SECONDS = 1.0
PATIENCE_SECONDS = 900.0
"""How often a query is looked at, and how long it may take; CloudWatch Logs itself gives it 60 minutes."""
_INTERFACES = 50
"""How many interfaces one query is about, so that its text stays below the 10,000 characters that StartQuery takes."""
_UNFINISHED = frozenset({"Scheduled", "Running"})


class LogGroup(NamedTuple):
    """A log group: the flow logs that are published there, and the time before which it holds no record."""

    name: str
    flow_logs: tuple[FlowLog, ...]
    kept_since: datetime


class Reading(NamedTuple):
    """The bytes at each interface that had any, the interfaces where records were skipped, and the bytes scanned."""

    by_interface: Mapping[str, float]
    skipped: frozenset[str]
    bytes_scanned: float


def read_log_group(aws: Aws, name: str) -> LogGroup:
    """What a log group holds. Raises ApiError, also where there is none of that name."""
    rows = pages(aws.client("logs"), "logs", "describe_log_groups", "logGroups", logGroupNamePrefix=name)
    group = next((row for row in rows if row["logGroupName"] == name), None)
    if group is None:
        raise ApiError("logs:DescribeLogGroups", "ResourceNotFoundException", f"{aws.region} has no log group {name}")
    kept = datetime.fromtimestamp(group["creationTime"] / 1000, UTC)
    if group.get("retentionInDays"):
        kept = max(kept, datetime.now(UTC) - timedelta(days=group["retentionInDays"]))
    of_group = [{"Name": "log-group-name", "Values": [name]}]
    described = pages(aws.ec2, "ec2", "describe_flow_logs", "FlowLogs", Filter=of_group)
    return LogGroup(name, tuple(_flow_log(row) for row in described), kept)


def _flow_log(row: Mapping[str, Any]) -> FlowLog:
    fields = tuple(each.strip("${}") for each in row["LogFormat"].split())
    return FlowLog(row["FlowLogId"], row["ResourceId"], row.get("TrafficType", "ALL"), fields, row["CreationTime"])


def read_nat_places(aws: Aws, gateway_ids: Sequence[str]) -> dict[str, NatPlace]:
    """Where NAT gateways of this account and Region are, by id; those that are gone are absent. Raises ApiError."""
    rows = filtered(aws.ec2, "describe_nat_gateways", "NatGateways", "nat-gateway-id", gateway_ids)
    return {row["NatGatewayId"]: _place(row) for row in rows}


def _place(row: Mapping[str, Any]) -> NatPlace:
    addresses = row.get("NatGatewayAddresses", [])
    interfaces = sorted({each["NetworkInterfaceId"] for each in addresses if each.get("NetworkInterfaceId")})
    return NatPlace(row["NatGatewayId"], tuple(interfaces), row.get("SubnetId") or "", row.get("VpcId") or "")


def read_express_bytes(
    aws: Aws,
    log_group: str,
    fields: Sequence[str],
    interfaces: Sequence[str],
    cidrs: Sequence[Cidr],
    of: Window,
) -> Reading:
    """The bytes between interfaces and S3 Express during a window, both ways, each once.

    fields are those of the records, in order. Raises ApiError where a query fails or does not end.
    """
    total: dict[str, float] = {}
    skipped: set[str] = set()
    scanned = 0.0
    for first in range(0, len(interfaces), _INTERFACES):
        text = query_text(fields, interfaces[first : first + _INTERFACES], cidrs)
        answer = _run(aws, log_group, text, of)
        scanned += answer.get("statistics", {}).get("bytesScanned", 0.0)
        for row in _rows(answer):
            if row.get("x_log_status") == "SKIPDATA":
                skipped.add(row["x_interface_id"])
            else:
                total[row["x_interface_id"]] = total.get(row["x_interface_id"], 0) + float(row.get("total", 0))
    return Reading(total, frozenset(skipped), scanned)


def query_text(fields: Sequence[str], interfaces: Iterable[str], cidrs: Iterable[Cidr]) -> str:
    """The query, whose fields are parsed out of each record, as those of a custom format are not discovered.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-operations-functions.html and, for custom
    formats, https://repost.aws/knowledge-center/cloudwatch-vpc-flow-logs. Their names begin with x_, so that they are
    not those of discovered ones.
    """
    names = [f"x_{each.replace('-', '_')}" for each in fields]
    listed = ", ".join(f'"{each}"' for each in interfaces)
    express = " or ".join(f'isIpv4InSubnet({end}, "{cidr}")' for cidr in cidrs for end in ("x_srcaddr", "x_dstaddr"))
    carried = f'({express}) and x_action = "ACCEPT"' if "action" in fields else f"({express})"
    has_status = "log-status" in fields
    return "\n| ".join(
        [
            f'parse @message "{" ".join("*" for _ in names)}" as {", ".join(names)}',
            f"filter x_interface_id in [{listed}]",
            f'filter ({carried}) or x_log_status = "SKIPDATA"' if has_status else f"filter {carried}",
            f"stats sum(x_bytes) as total by x_interface_id{', x_log_status' if has_status else ''}",
        ]
    )


def _run(aws: Aws, log_group: str, text: str, of: Window) -> Mapping[str, Any]:
    logs: CloudWatchLogsClient = aws.client("logs")
    with calling("logs:StartQuery"):
        query_id = logs.start_query(
            logGroupName=log_group,
            startTime=int(of.start.timestamp()),
            endTime=int(of.end.timestamp()) - 1,  # the end is included (botocore model: logs StartQuery)
            queryString=text,
            limit=10_000,
        )["queryId"]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with calling("logs:GetQueryResults"):
            answer = logs.get_query_results(queryId=query_id)
        if answer["status"] == "Complete":
            return answer
        running = answer["status"] in _UNFINISHED
        if not running or time.monotonic() > deadline:
            if running:
                _stop(logs, query_id)
            message = f"query {query_id} did not complete; fewer --days scan less"
            raise ApiError("logs:GetQueryResults", answer["status"], message)
        time.sleep(POLL_SECONDS)


def _stop(logs: "CloudWatchLogsClient", query_id: str) -> None:
    """A query is paid for by what it scans, so none goes on for nobody."""
    with calling("logs:StopQuery"):
        logs.stop_query(queryId=query_id)


def _rows(answer: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for row in answer["results"]:
        yield {each["field"]: each["value"] for each in row}
