"""One network out of what several accounts see."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings

from express_path.domain.network.resources import NetworkInterface
from express_path.domain.network.snapshot import Snapshot, merged
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account, Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from tests.support.drawing import SEEDS
from tests.support.make import EXPRESS_LIST, by_id, endpoint, firewalls, route, snapshot, subnet, table, verdict_on
from tests.support.random_networks import ACCOUNT, NEIGHBOUR, SUBNETS, parameters, snapshots

OWNERS = {"vpc-a": ACCOUNT, "vpc-b": NEIGHBOUR}


def owned(whole: Snapshot) -> Snapshot:
    """The same network, with each VPC and its resources in a separate account."""
    of_vpc = lambda resource: replace(resource, owner_id=OWNERS[resource.vpc_id])  # noqa: E731  # two short functions
    return replace(
        whole,
        vpcs={key: replace(vpc, owner_id=OWNERS[key]) for key, vpc in whole.vpcs.items()},
        subnets={key: of_vpc(subnet) for key, subnet in whole.subnets.items()},
        route_tables={key: of_vpc(table) for key, table in whole.route_tables.items()},
    )


def view(whole: Snapshot, vpc_id: str) -> Snapshot:
    """What the owner of a VPC sees of the whole; the transit gateway belongs to the owner of vpc-b."""
    of_vpc = lambda records: {key: record for key, record in records.items() if record.vpc_id == vpc_id}  # noqa: E731  # two short functions
    subnets, hub = of_vpc(whole.subnets), vpc_id == "vpc-b"
    interfaces, attachments = whole.network_interfaces, whole.transit_gateway_attachments
    return replace(
        whole,
        account_id=OWNERS[vpc_id],
        vpcs={vpc_id: whole.vpcs[vpc_id]},
        subnets=subnets,
        route_tables=of_vpc(whole.route_tables),
        vpc_endpoints=of_vpc(whole.vpc_endpoints),
        nat_gateways=of_vpc(whole.nat_gateways),
        network_interfaces=interfaces
        and {key: interface for key, interface in interfaces.items() if interface.subnet_id in subnets},
        transit_gateway_attachments=attachments
        and {
            key: attachment
            if attachment.resource_id == vpc_id and hub
            else replace(attachment, route_table_id=None)
            if attachment.resource_id == vpc_id
            else replace(attachment, subnet_ids=None, appliance_mode=False)
            for key, attachment in attachments.items()
            if hub or attachment.resource_id == vpc_id
        },
        transit_gateway_route_tables=whole.transit_gateway_route_tables if hub else None,
    )


def verdicts(network: Snapshot, rule: RuleParameters) -> list[Verdict]:
    """Every verdict on every subnet, for both accounts."""
    evaluators = [Evaluator(Tracer(network), rule, Account(owner, True)) for owner in OWNERS.values()]
    return [evaluator.verdict(subnet_id) for evaluator in evaluators for subnet_id in SUBNETS]


@pytest.mark.no_cover
@settings(max_examples=150)
@given(seed=SEEDS)
def test_two_accounts_views_make_the_whole(seed: int) -> None:
    """The merged views of both owners, in either order, give the same verdicts as the whole network."""
    random = Random(seed)
    whole, rule = owned(snapshots()(random)), parameters()(random)
    views = [view(whole, "vpc-a"), view(whole, "vpc-b")]
    assert verdicts(merged(views), rule) == verdicts(merged(views[::-1]), rule) == verdicts(whole, rule)


def test_the_owners_description_counts() -> None:
    """A participant of a shared VPC does not see the owner's tags."""
    own = subnet(owner_id=NEIGHBOUR, tags={"seen": "by its owner"})
    views = [
        snapshot(subnets=by_id(replace(own, tags={}))),
        replace(snapshot(subnets=by_id(own)), account_id=NEIGHBOUR),
    ]
    assert merged(views).subnets == merged(views[::-1]).subnets == by_id(own)


def test_the_subnets_of_others_are_told_apart() -> None:
    """Paths may lead through subnets of other accounts, but the account does not evaluate them."""
    views = [
        snapshot(subnets=by_id(subnet("subnet-1"), subnet("subnet-2"))),
        snapshot(subnets=by_id(subnet("subnet-2"), subnet("subnet-3"))),
    ]
    network = merged(views)
    assert network.foreign_subnet_ids == {"subnet-3"}
    assert [subnet.id for subnet in network.own_subnets] == ["subnet-1", "subnet-2"]


def test_a_table_that_another_account_lists_is_listed() -> None:
    """A participant sees only the tables of the subnets that are shared with it; the owner's endpoint names others."""
    shared, rest = table("rtb-1", subnets=("subnet-1",)), table("rtb-0", route("pl-express", "vpce-express"), main=True)
    named = by_id(endpoint(route_table_ids=("rtb-0", "rtb-1")))
    owner = snapshot(subnets=by_id(subnet("subnet-2")), route_tables=by_id(shared, rest), vpc_endpoints=named)
    participant = replace(owner, account_id=NEIGHBOUR, route_tables=by_id(shared), vpc_endpoints={})
    for views in ([owner, participant], [participant, owner]):
        assert verdict_on(replace(merged(views), account_id=ACCOUNT), "subnet-2").reason == "ENDPOINT"


@pytest.mark.parametrize("order", [1, -1])
def test_a_list_that_one_account_can_read_is_read(order: int) -> None:
    """Only the owner of a customer's list can read its entries."""
    hidden = replace(EXPRESS_LIST, cidrs=None)
    views = [snapshot(prefix_lists=by_id(hidden)), snapshot()][::order]
    assert merged(views).prefix_lists == by_id(EXPRESS_LIST)


@pytest.mark.parametrize("order", [1, -1])
def test_a_list_that_one_account_describes_is_known_by_name(order: int) -> None:
    """An account that may not describe lists reads only the entries; the other account's name of the list is kept."""
    nameless = replace(EXPRESS_LIST, name="", aws_owned=False)
    views = [snapshot(prefix_lists=by_id(nameless)), snapshot()][::order]
    assert merged(views).prefix_lists == by_id(EXPRESS_LIST)


def test_one_account_shows_a_firewall_and_another_its_endpoint_there() -> None:
    """The endpoints that two accounts know of one firewall are added up."""
    views = [snapshot(firewalls=firewalls("vpce-1")), snapshot(firewalls=firewalls("vpce-2")), snapshot()]
    [merged_firewall] = (merged(views).firewalls or {}).values()
    assert merged_firewall.endpoint_ids == ("vpce-1", "vpce-2")


def test_an_interface_that_two_accounts_list_is_the_first_accounts() -> None:
    """A participant's interface is listed by the owner of the VPC, too, maybe before its check was disabled."""
    seen = NetworkInterface("eni-1", "subnet-1", source_dest_check=False)
    views = [snapshot(network_interfaces=by_id(one)) for one in (seen, replace(seen, source_dest_check=True))]
    assert merged(views).network_interfaces == by_id(seen)


def test_what_no_account_can_read_stays_unreadable() -> None:
    """Resources that no account can read stay None instead of becoming empty."""
    network = merged([snapshot(), snapshot()])
    assert network.network_interfaces is None
    assert network.transit_gateway_attachments is None
    assert network.transit_gateway_route_tables is None
    assert merged([snapshot(), snapshot(network_interfaces={})]).network_interfaces == {}
