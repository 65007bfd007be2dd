"""Flow logs in the sandbox: published as AWS does, in any format."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import count

from moto.ec2.models import ec2_backends
from moto.logs.models import logs_backends

from config_rule_sandbox.networks.account import Account

DEFAULT = (
    "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action log-status"
)
GROUP = "vpc-flow-logs"
_streams = count()


class FlowLogs:
    """A log group, the flow logs that are published there, and their records, each some hours old."""

    def __init__(self, account: Account, group: str = GROUP) -> None:
        """Create the log group, with a creation time one year ago."""
        self._account, self._group = account, group
        self._logs = account.sandbox.client("logs", credentials=account.credentials)
        self._logs.create_log_group(logGroupName=group)
        backend = logs_backends[account.account_id][account.sandbox.region]
        backend.groups[group].creation_time = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=365)

    def publish(
        self, resource_id: str, fields: str = DEFAULT, traffic: str = "ALL", age: timedelta = timedelta(days=365)
    ) -> str:
        """Make a flow log of a VPC, subnet or interface and return its id."""
        kind = {"vpc": "VPC", "sub": "Subnet", "eni": "NetworkInterface"}[resource_id[:3]]
        own = {} if fields == DEFAULT else {"LogFormat": " ".join(f"${{{field}}}" for field in fields.split())}
        made = self._account.ec2.create_flow_logs(
            ResourceIds=[resource_id],
            ResourceType=kind,
            TrafficType=traffic,
            LogGroupName=self._group,
            DeliverLogsPermissionArn=f"arn:aws:iam::{self._account.account_id}:role/flow-logs",
            **own,
        )
        flow_log_id = str(made["FlowLogIds"][0])
        backend = ec2_backends[self._account.account_id][self._account.sandbox.region]
        backend.flow_logs[flow_log_id].creation_time = datetime.now(UTC).replace(tzinfo=None) - age
        return flow_log_id

    def record(self, *values: dict[str, object], fields: str = DEFAULT, age: timedelta = timedelta(hours=5)) -> None:
        """Put records of this age; a field without a value is "-", as AWS writes unknown values."""
        stream = f"stream-{next(_streams)}"
        time = datetime.now(UTC) - age
        self._logs.create_log_stream(logGroupName=self._group, logStreamName=stream)
        events = [{"timestamp": int(time.timestamp() * 1000), "message": _line(record, fields)} for record in values]
        self._logs.put_log_events(logGroupName=self._group, logStreamName=stream, logEvents=events)

    def keep(self, days: int) -> None:
        """Set the log group's retention."""
        self._logs.put_retention_policy(logGroupName=self._group, retentionInDays=days)


def _line(values: dict[str, object], fields: str) -> str:
    defaults = {"version": 2, "account-id": "123456789012", "action": "ACCEPT", "log-status": "OK", "protocol": 6}
    return " ".join(str(values.get(field, defaults.get(field, "-"))) for field in fields.split())


def crossing(
    interface_id: str, client: str, nat: str, express: str, out: int, back: int, **more: object
) -> Iterable[dict[str, object]]:
    """The four records of a flow through a NAT gateway at its interface.

    https://docs.aws.amazon.com/vpc/latest/userguide/flow-logs-records-examples.html.
    """
    legs = [
        (client, nat, client, express, out),
        (nat, express, nat, express, out),
        (express, nat, express, nat, back),
        (nat, client, express, client, back),
    ]
    for source, destination, packet_source, packet_destination, size in legs:
        yield {
            "interface-id": interface_id,
            "srcaddr": source,
            "dstaddr": destination,
            "pkt-srcaddr": packet_source,
            "pkt-dstaddr": packet_destination,
            "bytes": size,
            **more,
        }
