"""Hubs whose route tables have an endpoint's route already, so that other VPCs behind them cannot reach S3 Express."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from express_path.domain.heal.transit import cut_off
from express_path_cli.findings.row import Row
from express_path_cli.findings.selection import Selection
from express_path_cli.sources.network import View
from express_path_cli.terminal.texts import count_text

TITLE = "Hubs that cut off other VPCs"
FIX = (
    "A gateway endpoint serves only its own VPC, so other VPCs cannot reach S3 Express through it. First give each VPC behind "
    "the hub its own endpoint. Then give the workloads in the hub's VPC a route table of their own with the endpoint, and "
    "remove the endpoint from the route tables that the other VPCs' traffic uses."
)
FIND_OUT = (
    "Where it is not certain that such traffic comes, set networkRoleArn to a role in the account that owns the transit "
    "gateway, or scan that account, too. The routes of core networks are not read: ask their owner."
)


@dataclass(frozen=True, slots=True)
class Hub:
    """Route tables of a VPC with a route to a gateway endpoint, which traffic of other VPCs uses, or may use.

    gateway_id is a transit gateway, or the ARN of a core network. attachment_id is empty if the attachment is not listed.
    subnets is how many listed subnets have a path to the endpoint through the attachment.
    """

    account_id: str
    region: str
    vpc_id: str
    route_table_ids: tuple[str, ...]
    endpoint_id: str
    gateway_id: str
    attachment_id: str
    is_certain: bool
    subnets: int = 0

    @property
    def where(self) -> str:
        """The account and the Region."""
        return f"account {self.account_id} {self.region}"

    @property
    def what(self) -> str:
        """What happens there, in a sentence without its period."""
        leads = "leads" if self.is_certain else "may lead"
        entrance = self.attachment_id or self.vpc_id
        tables = f"{' and '.join(self.route_table_ids)} in {self.vpc_id}"
        tables_lead = "leads" if len(self.route_table_ids) == 1 else "lead"
        sentence = (
            f"{self.gateway_id} {leads} S3 Express traffic of other VPCs to {entrance}, and from there {tables} "
            f"{tables_lead} it to {self.endpoint_id}"
        )
        if self.subnets:
            have = "has" if self.subnets == 1 else "have"
            sentence += f"; {count_text(self.subnets, 'listed subnet')} {have} a path there"
        return sentence


def hubs_of(views: Sequence[View]) -> list[Hub]:
    """Return the hubs of the networks that were read, without the number of subnets."""
    hubs = []
    for tracer in {id(view.tracer): view.tracer for view in views}.values():
        snapshot = tracer.snapshot
        for vpc_id in sorted({endpoint.vpc_id for endpoint in snapshot.vpc_endpoints.values()}):
            vpc = snapshot.vpcs.get(vpc_id)
            account_id = (vpc.owner_id if vpc else "") or snapshot.account_id
            tables: defaultdict[tuple[str, str, str], dict[str, bool]] = defaultdict(dict)
            for cut in cut_off(tracer, vpc_id):
                way = (cut.endpoint_id, cut.entrance.gateway_id, cut.entrance.attachment_id)
                tables[way][cut.route_table_id] = cut.is_certain
            for way, certainty in tables.items():
                is_certain = any(certainty.values())
                hubs.append(Hub(account_id, snapshot.region, vpc_id, tuple(certainty), *way, is_certain))
    return hubs


def selected_hubs(hubs: Sequence[Hub], rows: Sequence[Row], selection: Selection) -> list[Hub]:
    """Return the hubs of a selection, with the number of these rows behind each of them; those that are certain first.

    They are in a VPC of a selected subnet, or the traffic of one goes there.
    """
    if not hubs:
        return []
    numbers = dict.fromkeys(hubs, 0)
    for row in rows:
        paths = [{hop.id for hop in hops} for hops in (row.path, *(path.hops for path in row.other_paths))]
        for hub in hubs:
            if any({hub.attachment_id, hub.endpoint_id} <= ids for ids in paths):
                numbers[hub] += 1
    vpc_ids = {row.vpc_id for row in rows}
    counted = [replace(hub, subnets=number) for hub, number in numbers.items()]
    return sorted((hub for hub in counted if not selection.options or hub.subnets or hub.vpc_id in vpc_ids), key=_order)


def _order(hub: Hub) -> tuple[bool, int, str, str, str, str]:
    return not hub.is_certain, -hub.subnets, hub.account_id, hub.region, hub.vpc_id, hub.endpoint_id


def hubs_in_short(hubs: Sequence[Hub]) -> str:
    """Return how many hubs there are, for output about what is new."""
    return f"{TITLE}: {len(hubs)}. A scan without a plan and a baseline lists them."


def hub_advice(hubs: Sequence[Hub]) -> list[str]:
    """Return what to do about hubs, in sentences."""
    if all(hub.is_certain for hub in hubs):
        return [FIX]
    return [FIX, FIND_OUT]
