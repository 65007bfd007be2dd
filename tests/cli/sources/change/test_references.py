"""Which resources a value names that is known only after the apply, by what it refers to, without the configuration."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import invoke
from tests.support.plans import UNKNOWN, PlanBuilder, endpoint, nat_route, network

pytestmark = pytest.mark.usefixtures("no_credentials")

VPC = {"vpc_id": ["aws_vpc.this.id", "aws_vpc.this"]}
NEW = {"id": UNKNOWN, "vpc_id": UNKNOWN}
TABLE = {**NEW, "route": UNKNOWN}
UNRESOLVED = "UNRESOLVED_EGRESS"
NAT = ["aws_nat_gateway.this.id", "aws_nat_gateway.this"]


def reasons(plan: PlanBuilder, folder: Path) -> dict[str, str]:
    """Return the reason of each subnet of a plan that is judged alone, by its address."""
    result = invoke(["scan", "--plan", str(plan.write(folder)), "--format", "json"])
    assert result.exit_code in (0, 1), result.output
    return {row["address"]: row["reason"] for row in json.loads(result.stdout)["subnets"]}


def start() -> PlanBuilder:
    """Return a VPC and a NAT gateway."""
    return PlanBuilder().add("aws_vpc.this", {"id": UNKNOWN}).add("aws_nat_gateway.this", {"id": UNKNOWN})


def association(
    plan: PlanBuilder, address: str, subnet: Sequence[str], table: Sequence[str], **block: Any
) -> PlanBuilder:
    """Add an association."""
    values = {"subnet_id": UNKNOWN, "route_table_id": UNKNOWN}
    return plan.add(address, values, {"subnet_id": subnet, "route_table_id": table}, block=block)


def default_route(plan: PlanBuilder, address: str, table: Sequence[str], nat: Sequence[str] = NAT) -> PlanBuilder:
    """Add a default route to a NAT gateway."""
    values = {"route_table_id": UNKNOWN, "destination_cidr_block": "0.0.0.0/0", "nat_gateway_id": UNKNOWN}
    return plan.add(address, values, {"route_table_id": table, "nat_gateway_id": nat})


def counted(*, nats: int, associations: int = 3, key: str = "count.index") -> PlanBuilder:
    """Return three subnets with three tables by count, of which some have a route. key: what else their references name."""
    plan = start()
    for number in range(3):
        plan.add(f"aws_subnet.p[{number}]", NEW, VPC).add(f"aws_route_table.t[{number}]", TABLE, VPC)
    for number in range(associations):
        association(
            plan,
            f"aws_route_table_association.a[{number}]",
            ["aws_subnet.p", key],
            ["aws_route_table.t", key],
        )
    for number in range(nats):
        default_route(plan, f"aws_route.r[{number}]", ["aws_route_table.t", "count.index"])
    return plan


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (counted(nats=3), {"NAT_GATEWAY"}),  # whichever it is, it has a route
        (counted(nats=3, key="each.key").add("aws_route_table.other", TABLE, VPC), {"NAT_GATEWAY"}),
        (counted(nats=0), {"NO_ROUTE"}),
        (counted(nats=2), {"UNRESOLVED_EGRESS"}),
        (counted(nats=3, associations=2), {"UNRESOLVED_EGRESS"}),  # one of them has the main table
    ],
)
def test_as_many_as_there_are_is_each_of_them(tmp_path: Path, plan: PlanBuilder, expected: set[str]) -> None:
    """A subnet has one association, and a table one default route, so counting decides where references do not."""
    assert set(reasons(plan, tmp_path).values()) == expected


def two_networks(*keys: str) -> PlanBuilder:
    """Return two VPCs with two subnets each: some have a table with a NAT, by for_each over the subnets. Main tables have none."""
    plan = PlanBuilder()
    for name in ("one", "two"):
        vpc = {"vpc_id": [f"aws_vpc.{name}.id", f"aws_vpc.{name}"]}
        plan.add(f"aws_vpc.{name}", {"id": UNKNOWN}).add(f"aws_nat_gateway.{name}", {"id": UNKNOWN})
        plan.add(f"aws_route_table.{name}", TABLE, vpc)
        default_route(plan, f"aws_route.{name}", [f"aws_route_table.{name}.id"], [f"aws_nat_gateway.{name}.id"])
        for key in "ab":
            plan.add(f'aws_subnet.{name}["{key}"]', NEW, vpc)
        for key in keys:
            address = f'aws_route_table_association.{name}["{key}"]'
            association(plan, address, ["each.value.id", "each.value"], [f"aws_route_table.{name}.id"])
    return plan


@pytest.mark.parametrize(("keys", "expected"), [("ab", {"NAT_GATEWAY"}), ("a", {UNRESOLVED})])
def test_associations_of_several_blocks_leave_the_tables_of_all_of_them(
    tmp_path: Path, keys: str, expected: set[str]
) -> None:
    """Each block may name the subnets of both VPCs. As many of them as there are subnets leave none to the main tables."""
    assert set(reasons(two_networks(*keys), tmp_path).values()) == expected


def with_endpoint(plan: PlanBuilder, keys: Sequence[str | int], table: Sequence[str], **block: Any) -> PlanBuilder:
    """Add an endpoint, and its associations with one table for each key."""
    endpoint(plan, tables=())
    for key in keys:
        plan.add(
            f"aws_vpc_endpoint_route_table_association.e[{json.dumps(key)}]",
            {"vpc_endpoint_id": UNKNOWN, "route_table_id": UNKNOWN},
            {"vpc_endpoint_id": ["aws_vpc_endpoint.s3express.id"], "route_table_id": table},
            block=block,
        )
    return plan


COUNT = ["aws_route_table.t", "count.index"]


@pytest.mark.parametrize(
    ("number", "table", "block"),
    [
        (3, COUNT, {"count_expression": {"references": ["aws_route_table.t"]}}),  # count.index % 2
        (4, ["each.value"], {"for_each_expression": {"references": ["aws_route_table.t"]}}),  # with the main table
    ],
)
def test_a_table_may_be_associated_with_an_endpoint_twice(
    tmp_path: Path, number: int, table: list[str], block: dict[str, Any]
) -> None:
    """So as many associations as there are tables need not be one for each table."""
    plan = with_endpoint(counted(nats=3), range(number), table, **block)
    found = {reason for address, reason in reasons(plan, tmp_path).items() if "aws_subnet.p" in address}
    assert found == {"UNRESOLVED_EGRESS"}


def modular(*, table: Sequence[str], vpc: Sequence[str] = ("var.vpc_id",)) -> PlanBuilder:
    """Return a subnet and its table in a module, and a route to the NAT gateway in the root module."""
    plan = start()
    plan.add("module.net.aws_subnet.p", NEW, {"vpc_id": vpc}).add(
        "module.net.aws_route_table.t", TABLE, {"vpc_id": vpc}
    )
    association(plan, "module.net.aws_route_table_association.a", ["aws_subnet.p.id", "aws_subnet.p"], ["local.table"])
    plan.pass_on("net", "vpc_id", VPC["vpc_id"]).output(
        "net", "table_id", ["aws_route_table.t.id", "aws_route_table.t"]
    )
    return default_route(plan, "aws_route.r", table)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (["local.table"], "NAT_GATEWAY"),  # there is one route table
        (["aws_ssm_parameter.table.value", "aws_ssm_parameter.table"], "UNRESOLVED_EGRESS"),
    ],
)
def test_a_value_that_hides_its_references_is_any_resource_of_its_kind(
    tmp_path: Path, table: list[str], expected: str
) -> None:
    """The value of another resource may be anything."""
    plan = modular(table=table).add("aws_ssm_parameter.table", {"id": "/table", "value": UNKNOWN})
    assert reasons(plan, tmp_path) == {"module.net.aws_subnet.p": expected}


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (["aws_route_table.p.id"], {"aws_subnet.p": "ENDPOINT", "aws_subnet.q": "NAT_GATEWAY"}),
        # A list of both, or [try(aws_route_table.p.id, aws_route_table.q.id)]
        (["aws_route_table.p.id", "aws_route_table.q.id"], dict.fromkeys(("aws_subnet.p", "aws_subnet.q"), UNRESOLVED)),
    ],
)
def test_a_list_is_followed_through_modules(tmp_path: Path, tables: list[str], expected: dict[str, str]) -> None:
    """An endpoint in a module lists the only table to which the list that it is given refers, or any of several."""
    plan = start()
    for name in ("p", "q"):
        plan.subnet_with_table(name)
        default_route(plan, f"aws_route.{name}", [f"aws_route_table.{name}.id"])
    values = {"vpc_id": UNKNOWN, "service_name": "com.amazonaws.us-east-1.s3express", "route_table_ids": UNKNOWN}
    plan.add(
        "module.e.aws_vpc_endpoint.s3express", values, {"vpc_id": ["var.vpc_id"], "route_table_ids": ["var.tables"]}
    )
    plan.pass_on("e", "vpc_id", VPC["vpc_id"]).pass_on("e", "tables", tables)
    assert reasons(plan, tmp_path) == expected


TIERS = ['module.t["a"].table_id', 'module.t["a"]']


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (TIERS, {"a": "ENDPOINT", "b": "NAT_GATEWAY"}),
        ([*TIERS, *TIERS], {"a": UNRESOLVED, "b": "NAT_GATEWAY"}),
        ([*TIERS, "module.t", "each.key"], {"a": UNRESOLVED, "b": UNRESOLVED}),  # another use of module.t
        (["module.circle.out"], {"a": UNRESOLVED, "b": UNRESOLVED}),
        (["module.long499.out"], {"a": UNRESOLVED, "b": UNRESOLVED}),
    ],
)
def test_an_output_is_what_its_own_expression_refers_to(
    tmp_path: Path, tables: list[str], expected: dict[str, str]
) -> None:
    """Of the instance of a module that is named. In a circle, and after very many modules, it may be anything."""
    plan = endpoint(start(), tables)
    for key in "ab":
        module = f'module.t["{key}"]'
        plan.add(f"{module}.aws_subnet.p", NEW, {"vpc_id": ["var.vpc_id"]})
        plan.add(f"{module}.aws_route_table.t", TABLE, {"vpc_id": ["var.vpc_id"]})
        association(plan, f"{module}.aws_route_table_association.a", ["aws_subnet.p.id"], ["aws_route_table.t.id"])
        default_route(plan, f"{module}.aws_route.r", ["aws_route_table.t.id"], ["var.nat_id"])
    plan.pass_on("t", "vpc_id", VPC["vpc_id"]).pass_on("t", "nat_id", NAT).output(
        "t", "table_id", ["aws_route_table.t.id"]
    )
    plan.pass_on("circle", "in", ["module.circle.out", *TIERS]).output("circle", "out", ["var.in"])
    for number in range(500):
        plan.pass_on(f"long{number}", "in", [f"module.long{number - 1}.out"] if number else TIERS)
        plan.output(f"long{number}", "out", ["var.in"])
    found = reasons(plan, tmp_path)
    assert {key: found[f'module.t["{key}"].aws_subnet.p'] for key in "ab"} == expected


def test_an_empty_list_names_nothing(tmp_path: Path) -> None:
    """The provider computes a list that is empty, so a plan marks it as known after the apply."""
    plan = endpoint(nat_route(network()))
    blocks = plan.document["configuration"]["root_module"]["resources"]
    blocks[-1]["expressions"]["route_table_ids"] = {"constant_value": []}
    assert reasons(plan, tmp_path) == {"aws_subnet.private": "NAT_GATEWAY"}


def test_a_local_value_may_be_any_of_several(tmp_path: Path) -> None:
    """With a second table that has other routes, the association of the subnet is not certain."""
    plan = modular(table=["module.net.table_id", "module.net"])
    plan.add("module.net.aws_route_table.other", TABLE, {"vpc_id": ["var.vpc_id"]})
    assert reasons(plan, tmp_path) == {"module.net.aws_subnet.p": "UNRESOLVED_EGRESS"}


def test_a_table_of_another_vpc_is_not_possible(tmp_path: Path) -> None:
    """A local value may be any table of the module, but AWS associates a subnet with one of its own VPC only."""
    plan = start().add("aws_vpc.other", {"id": UNKNOWN})
    for name, vpc in (("p", "this"), ("q", "other")):
        to_vpc = {"vpc_id": [f"aws_vpc.{vpc}.id", f"aws_vpc.{vpc}"]}
        plan.add(f"aws_subnet.{name}", NEW, to_vpc).add(f"aws_route_table.{name}", TABLE, to_vpc)
        association(plan, f"aws_route_table_association.{name}", [f"aws_subnet.{name}.id"], ["local.table"])
    default_route(plan, "aws_route.r", ["aws_route_table.q.id"])
    assert reasons(plan, tmp_path) == {"aws_subnet.p": "NO_ROUTE", "aws_subnet.q": "NAT_GATEWAY"}


def test_a_table_that_is_excluded_does_not_speak_for_others(tmp_path: Path) -> None:
    """If one of two possible tables has the tag that excludes its subnets, the verdict is not certain."""
    plan = start().add("aws_subnet.p", {"id": UNKNOWN, "vpc_id": "vpc-1"})
    tags = {"express-path:exclude": "yes"}
    plan.add("aws_route_table.t[0]", {**TABLE, "tags_all": tags}, VPC).add("aws_route_table.t[1]", TABLE, VPC)
    association(plan, "aws_route_table_association.a", ["aws_subnet.p.id"], ["aws_route_table.t", "var.which"])
    default_route(plan, "aws_route.r[0]", COUNT)
    default_route(plan, "aws_route.r[1]", COUNT)
    assert reasons(plan, tmp_path) == {"aws_subnet.p": "UNRESOLVED_EGRESS"}


INDEXED = ["aws_route_table.t[1].id", "aws_route_table.t[1]", "aws_route_table.t"]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (INDEXED, "NAT_GATEWAY"),
        (
            ["var.which", *INDEXED, "aws_route_table.t", "count.index"],
            UNRESOLVED,
        ),  # var.which ? t[1].id : t[count.index].id
        ([*INDEXED, "aws_route_table.t"], UNRESOLVED),  # a second use
        (["aws_route_table.t"], UNRESOLVED),
        (["aws_route_table.t[2].id", "aws_route_table.t[2]", "aws_route_table.t", *INDEXED], "NAT_GATEWAY"),
        (["aws_vpc.this.arn", "var.known", *INDEXED], UNRESOLVED),  # aws_vpc.this.arn == "" ? var.known : t[1].id
    ],
)
def test_only_one_traversal_is_certain(tmp_path: Path, table: list[str], expected: str) -> None:
    """A plan lists what a traversal is a part of after it, so the same names again are a second use."""
    plan = start().add("aws_subnet.p", NEW, VPC)
    plan.document["variables"] = {"known": {"value": "rtb-0a17f3c2d94b6e580"}}
    for number in range(3):
        plan.add(f"aws_route_table.t[{number}]", TABLE, VPC)
    default_route(plan, "aws_route.r2", ["aws_route_table.t[2].id", "aws_route_table.t[2]", "aws_route_table.t"])
    association(plan, "aws_route_table_association.a", ["aws_subnet.p.id", "aws_subnet.p"], table)
    default_route(plan, "aws_route.r", INDEXED)
    assert reasons(plan, tmp_path) == {"aws_subnet.p": expected}


def test_a_data_source_that_is_read_later_may_be_anything(tmp_path: Path) -> None:
    """Its value is not in the plan."""
    plan = start().add("aws_subnet.p", NEW, VPC).add("aws_route_table.t", TABLE, VPC)
    association(
        plan,
        "aws_route_table_association.a",
        ["aws_subnet.p.id"],
        ["data.aws_route_table.x.id", "aws_route_table.t.id"],
    )
    plan.document["resource_changes"].append(
        {
            "address": "data.aws_route_table.x",
            "mode": "data",
            "type": "aws_route_table",
            "name": "x",
            "change": {"actions": ["read"], "before": None, "after": {}, "after_unknown": {"id": True}},
        }
    )
    assert reasons(plan, tmp_path) == {"aws_subnet.p": "UNRESOLVED_EGRESS"}
