"""Which endpoint a heal uses, and who else may own it."""

from dataclasses import replace

import pytest

from express_path.domain.heal.endpoints import express_endpoints
from express_path.domain.heal.records import Action, Blocker
from express_path.domain.network.resources import VpcEndpoint
from tests.support.heal_situation import BOTH, DUAL_STACK, TO_NAT, blockers, evidence_of, network, planned
from tests.support.make import EXPRESS, REGION, endpoint, route

MANAGED = {"express-path:managed": "true"}
STACK = {"aws:cloudformation:stack-name": "network", "aws:cloudformation:logical-id": "Express"}


@pytest.mark.parametrize(
    "other",
    [
        endpoint(service_name=f"com.amazonaws.{REGION}.s3"),
        endpoint(endpoint_type="interface"),
        endpoint(vpc_id="vpc-2"),
        endpoint(service_name="com.amazonaws.eu-west-1.s3express"),
    ],
    ids=["S3", "interface", "other VPC", "other Region"],
)
def test_only_gateway_endpoints_of_the_service_and_vpc_count(other: VpcEndpoint) -> None:
    """An endpoint of another service, type, VPC, or Region does not prevent the creation of one."""
    assert express_endpoints(network(endpoints=(other,)), "vpc-1") == []
    assert planned(network(endpoints=(other,))).action is Action.CREATE_AND_ASSOCIATE


def test_endpoints_of_other_partitions_count() -> None:
    """In China, the service's name begins with cn."""
    found = replace(network(endpoints=(endpoint(service_name=f"cn.{EXPRESS}"),)))
    assert planned(found).action is Action.ASSOCIATE


@pytest.mark.parametrize("state", ["available", "pending"])
def test_endpoint_that_works_soon_is_used(state: str) -> None:
    """A pending endpoint is used, for the runbook waits until it is available."""
    plan = planned(network(endpoints=(endpoint(state=state),)))
    assert (plan.action, plan.endpoint_id) == (Action.ASSOCIATE, "vpce-express")


@pytest.mark.parametrize("state", ["deleted", "failed", "rejected", "expired", "partial", "pendingacceptance"])
def test_endpoint_that_is_dead_is_as_none(state: str) -> None:
    """An endpoint that will never carry traffic is ignored, and a new one is created."""
    plan = planned(network(endpoints=(endpoint(state=state),)))
    assert (plan.action, plan.blockers) == (Action.CREATE_AND_ASSOCIATE, ())


def test_endpoint_that_is_being_deleted_blocks() -> None:
    """ENDPOINT_DELETING: a new endpoint would meet the routes of the one that goes."""
    plan = planned(network(endpoints=(endpoint(state="deleting"),)))
    assert (plan.action, blockers(plan)) == (Action.BLOCKED, [Blocker.ENDPOINT_DELETING])
    assert "vpce-express" in evidence_of(plan, Blocker.ENDPOINT_DELETING)


def test_endpoint_that_is_being_deleted_does_not_matter_beside_another() -> None:
    """If a usable endpoint exists, another one that is being deleted does not matter."""
    plan = planned(network(endpoints=(endpoint("vpce-1", state="deleting"), endpoint("vpce-2"))))
    assert (plan.action, plan.endpoint_id, plan.blockers) == (Action.ASSOCIATE, "vpce-2", ())


@pytest.mark.parametrize(
    ("endpoints", "chosen"),
    [
        ((endpoint("vpce-1"), endpoint("vpce-2", tags=MANAGED)), "vpce-2"),
        ((endpoint("vpce-1", tags=STACK), endpoint("vpce-2")), "vpce-2"),
        ((endpoint("vpce-1", tags={**STACK, **MANAGED}), endpoint("vpce-2")), "vpce-2"),
        ((endpoint("vpce-1", tags={"terraform": "yes"}), endpoint("vpce-2")), "vpce-2"),
        ((endpoint("vpce-2"), endpoint("vpce-1")), "vpce-1"),
    ],
    ids=["a heal's", "not CloudFormation's", "not even if a heal's", "not Terraform's", "by id"],
)
def test_of_several_endpoints_one_is_chosen(endpoints: tuple[VpcEndpoint, ...], chosen: str) -> None:
    """Rather one that no tool owns, then one that a heal made, then the first by id: all runs choose alike."""
    plan = planned(network(endpoints=endpoints), owner_tags=("terraform",))
    assert (plan.action, plan.endpoint_id) == (Action.ASSOCIATE, chosen)


OWNED = [
    ({"aws:cloudformation:stack-name": "network"}, (), "aws:cloudformation:stack-name"),
    ({"aws:cloudformation:stack-id": "arn"}, (), "aws:cloudformation:stack-id"),
    ({"terraform": "anything"}, ("terraform",), "terraform"),
    ({"managed-by": "terraform"}, ("owner", "managed-by=terraform"), "managed-by"),
]


@pytest.mark.parametrize(("tags", "owner_tags", "shown"), OWNED, ids=[case[2] for case in OWNED])
def test_endpoint_of_a_tool_is_left_to_it(tags: dict[str, str], owner_tags: tuple[str, ...], shown: str) -> None:
    """OWNED_BY_IAC: CloudFormation's tags, and those that a team names, mark an endpoint as a tool's."""
    plan = planned(network(endpoints=(endpoint(tags=tags),)), owner_tags=owner_tags)
    assert (plan.action, blockers(plan)) == (Action.BLOCKED, [Blocker.OWNED_BY_IAC])
    assert shown in evidence_of(plan, Blocker.OWNED_BY_IAC)
    assert plan.endpoint_id == "vpce-express"


@pytest.mark.parametrize(("tags", "owner_tags", "_"), OWNED, ids=[case[2] for case in OWNED])
def test_endpoint_of_a_tool_may_be_adopted(tags: dict[str, str], owner_tags: tuple[str, ...], _: str) -> None:
    """With AdoptIacOwned, a team lets heals change what a tool owns."""
    plan = planned(network(endpoints=(endpoint(tags=tags),)), owner_tags=owner_tags, adopt_iac_owned=True)
    assert (plan.action, plan.blockers) == (Action.ASSOCIATE, ())


@pytest.mark.parametrize(
    ("tags", "owner_tags"),
    [
        ({"managed-by": "hand"}, ("managed-by=terraform",)),
        ({"Terraform": "yes"}, ("terraform",)),
        ({"cloudformation": "yes"}, ()),
    ],
    ids=["other value", "other case", "no tool's tag"],
)
def test_other_tags_mark_no_owner(tags: dict[str, str], owner_tags: tuple[str, ...]) -> None:
    """Keys and values must be just those, in case too."""
    assert planned(network(endpoints=(endpoint(tags=tags),)), owner_tags=owner_tags).action is Action.ASSOCIATE


def test_tool_that_owns_another_endpoint_does_not_matter() -> None:
    """An endpoint that a tool owns does not block a heal if there is one that no tool owns."""
    plan = planned(network(endpoints=(endpoint("vpce-1", tags=STACK), endpoint("vpce-2"))))
    assert (plan.action, plan.blockers) == (Action.ASSOCIATE, ())


def test_table_of_another_endpoint_is_not_taken_over() -> None:
    """If an endpoint already serves one family, a second endpoint for both cannot be associated."""
    found = network(
        TO_NAT,
        route("::/0", "nat-2"),
        route("pl-express", "vpce-2"),
        subnets=(DUAL_STACK,),
        lists=BOTH,
        endpoints=(endpoint("vpce-1", ip_address_type="dualstack"), endpoint("vpce-2", route_table_ids=("rtb-1",))),
    )
    assert planned(found).action is Action.BLOCKED


@pytest.mark.parametrize("address_type", ["dualstack", "ipv6"])
def test_endpoint_whose_address_type_the_subnets_lack_is_not_associated(address_type: str) -> None:
    """EC2 refuses a dual-stack (IPv6) endpoint for a table with a subnet that is not dual-stack (IPv6-only)."""
    plan = planned(network(lists=BOTH, endpoints=(endpoint(ip_address_type=address_type),)))
    assert plan.endpoint_id is None or plan.action is Action.BLOCKED


def test_of_several_endpoints_one_that_fits_is_chosen() -> None:
    """An IPv4 table is associated with the IPv4 endpoint, though another comes first by id."""
    found = network(lists=BOTH, endpoints=(endpoint("vpce-1", ip_address_type="dualstack"), endpoint("vpce-2")))
    assert (planned(found).action, planned(found).endpoint_id) == (Action.ASSOCIATE, "vpce-2")


def test_of_several_endpoints_one_that_cures_is_chosen() -> None:
    """A dual-stack subnet with IPv6 by a NAT needs the dual-stack endpoint, though another comes first by id."""
    found = network(
        TO_NAT,
        route("::/0", "nat-2"),
        subnets=(DUAL_STACK,),
        lists=BOTH,
        endpoints=(endpoint("vpce-1"), endpoint("vpce-2", ip_address_type="dualstack")),
    )
    assert (planned(found).action, planned(found).endpoint_id) == (Action.ASSOCIATE, "vpce-2")


def test_tag_of_key_and_value_is_shown_as_it_is() -> None:
    """The owner's tag is shown as key=value once."""
    plan = planned(network(endpoints=(endpoint(tags={"by": "terraform"}),)), owner_tags=("by=terraform",))
    assert evidence_of(plan, Blocker.OWNED_BY_IAC) == "vpce-express has the tag by=terraform, so a tool owns it"
