"""Which flow log records the traffic of a NAT gateway, so that each byte is counted once.

What passes a zonal NAT gateway is recorded at its network interface four times: from the client, to the destination,
and both back. srcaddr and dstaddr are the interface's neighbours on the wire, so S3 Express addresses stand there in
the second and the third record alone, while pkt-srcaddr and pkt-dstaddr would name them in all four
(https://docs.aws.amazon.com/vpc/latest/userguide/flow-logs-records-examples.html, traffic through a NAT gateway).
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from express_path.errors import ExpressPathError

NEEDED = ("interface-id", "srcaddr", "dstaddr", "bytes")


class NotRecordedError(ExpressPathError):
    """A NAT gateway's S3 Express traffic cannot be determined from a log group."""

    def __init__(self, nat_gateway_id: str, log_group: str, why: str) -> None:
        """Keep the NAT gateway, the log group and why."""
        self.nat_gateway_id, self.log_group, self.why = nat_gateway_id, log_group, why
        super().__init__(f"log group {log_group} does not tell its S3 Express traffic: {why}")


class FlowLog(NamedTuple):
    """A flow log: what it records, the fields of its records in their order, and since when."""

    id: str
    resource_id: str
    traffic_type: str
    fields: tuple[str, ...]
    created: datetime


class NatPlace(NamedTuple):
    """Where a zonal NAT gateway is: its network interfaces, its subnet and its VPC."""

    nat_gateway_id: str
    interface_ids: tuple[str, ...]
    subnet_id: str
    vpc_id: str


def recording(place: NatPlace, log_group: str, flow_logs: Iterable[FlowLog]) -> FlowLog:
    """The one flow log of a log group that records a NAT gateway's accepted traffic. Raises NotRecordedError.

    Where several do, the group holds every byte several times.
    """
    where = {*place.interface_ids, place.subnet_id, place.vpc_id}
    found = [each for each in flow_logs if each.resource_id in where and each.traffic_type != "REJECT"]
    why = _why_not(place, found)
    if why:
        raise NotRecordedError(place.nat_gateway_id, log_group, why)
    return found[0]


def _why_not(place: NatPlace, found: Sequence[FlowLog]) -> str:
    if not place.interface_ids:
        return "a regional NAT gateway has no network interface, and AWS does not say how records name it"
    if not found:
        return f"no flow log of {place.vpc_id}, {place.subnet_id} or its network interface is published there"
    if len(found) > 1:
        return f"{' and '.join(sorted(each.id for each in found))} both publish there, so each byte stands there twice"
    missing = [each for each in NEEDED if each not in found[0].fields]
    return f"the format of {found[0].id} lacks {', '.join(missing)}" if missing else ""
