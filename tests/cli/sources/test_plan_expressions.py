"""Expressions of a configuration, evaluated as far as the plan says: which route tables an endpoint lists."""

import json
from pathlib import Path

import pytest

from tests.support.command import invoke
from tests.support.plans import UNKNOWN, PlanBuilder, endpoint, nat_route, network

pytestmark = pytest.mark.usefixtures("no_credentials")

PRIVATE = "aws_route_table.private"
COUNTED, KEYED = "aws_route_table.counted", "aws_route_table.keyed"
SOURCE = """
variable "tables" {
  default = ["unused"]
}
locals {
  first  = aws_route_table.counted[0].id
  both   = { private = aws_route_table.private.id, other = local.first }
  wanted = toset(["private"])
  loop   = local.loop
}
resource "aws_vpc" "this" {
  cidr_block = "10.0.0.0/16"
}
resource "aws_route_table" "private" {
  vpc_id = aws_vpc.this.id
}
resource "aws_route_table" "counted" {
  count  = 2
  vpc_id = aws_vpc.this.id
}
resource "aws_route_table" "keyed" {
  for_each = toset(["a", "b"])
  vpc_id   = aws_vpc.this.id
}
resource "aws_vpc_endpoint" "s3express" {
  vpc_id          = aws_vpc.this.id
  service_name    = "com.amazonaws.us-east-1.s3express"
  route_table_ids = EXPRESSION
}
"""
WITH, WITHOUT, UNDECIDED = "ENDPOINT", "NAT_GATEWAY", "UNRESOLVED_EGRESS"
EXPRESSIONS = [
    ("[aws_route_table.counted[0].id, (aws_route_table.private.id)]", [PRIVATE, COUNTED], WITH),
    ("aws_route_table.counted[*].id", [COUNTED], WITHOUT),
    ("aws_route_table.counted.*.id", [COUNTED], WITHOUT),
    ("values(aws_route_table.keyed)[*].id", [KEYED], WITHOUT),
    ('[aws_route_table.keyed["b"].id]', [KEYED], WITHOUT),
    ("[for key, table in aws_route_table.keyed : table.id]", [KEYED], WITHOUT),
    ("[for name, id in local.both : id if contains(local.wanted, name)]", ["local.both", "local.wanted"], WITH),
    ("[for name, id in local.both : id if !contains(local.wanted, name)]", ["local.both", "local.wanted"], WITHOUT),
    ("[for id in [local.first] : id]", ["local.first"], WITHOUT),
    ("values({ for name, id in local.both : name => id })", ["local.both"], WITH),
    ('[lookup(local.both, "private", null)]', ["local.both"], WITH),
    ('[local.both["private"]]', ["local.both"], WITH),
    ("[try(local.both.missing, local.both.private)]", ["local.both"], WITH),
    ("[try(aws_route_table.counted[7].id, aws_route_table.private.id)]", [COUNTED, PRIVATE], WITH),
    ("[element(aws_route_table.counted[*].id, 3), aws_route_table.counted[1].id]", [COUNTED], WITHOUT),
    ("length(aws_route_table.counted) == 2 ? [aws_route_table.private.id] : []", [COUNTED, PRIVATE], WITH),
    ("1 + 1 > 3 || false ? [aws_route_table.private.id] : [local.first]", [PRIVATE, "local.first"], WITHOUT),
    ('var.with == "yes" && true ? [aws_route_table.private.id] : []', ["var.with", PRIVATE], WITH),
    ("flatten([[aws_route_table.private.id], [[local.first]]])", [PRIVATE, "local.first"], WITH),
    ('compact(concat([""], distinct([aws_route_table.private.id, aws_route_table.private.id])))', [PRIVATE], WITH),
    ("coalescelist([], [aws_route_table.private.id])", [PRIVATE], WITH),
    ('["${aws_route_table.private.id}"]', [PRIVATE], WITH),
    ('[merge(local.both, { other = "" }).private]', ["local.both"], WITH),
    ("concat([[aws_route_table.private.id]]...)", [PRIVATE], WITH),
    ("slice(reverse([aws_route_table.private.id, local.first]), 0, max(1, -1))", [PRIVATE, "local.first"], WITHOUT),
    # what is not known: the order of a set of ids, whether an id is equal to another one, a function, a value, and a loop
    ("[element(tolist(toset([aws_route_table.private.id, local.first])), 0)]", [PRIVATE, "local.first"], UNDECIDED),
    (
        "aws_route_table.private.id == local.first ? [] : [aws_route_table.private.id]",
        [PRIVATE, "local.first"],
        UNDECIDED,
    ),
    ('split(",", base64decode(aws_route_table.private.id))', [PRIVATE], WITH),  # its only reference
    ("var.unknown ? [aws_route_table.private.id] : []", [PRIVATE, "var.unknown"], WITH),  # or the list would be known
    ("[local.loop, aws_route_table.private.id]", ["local.loop", PRIVATE], UNDECIDED),
    ('["x${aws_route_table.private.id}", local.first]', [PRIVATE, "local.first"], UNDECIDED),
    (
        "[terraform.workspace, local.first, aws_route_table.private.id]",
        ["terraform.workspace", "local.first", PRIVATE],
        UNDECIDED,
    ),
    ("this is not HCL", ["local.first", PRIVATE], UNDECIDED),
]


@pytest.mark.parametrize(("expression", "refers_to", "expected"), EXPRESSIONS, ids=[row[0] for row in EXPRESSIONS])
def test_expressions(tmp_path: Path, expression: str, refers_to: list[str], expected: str) -> None:
    """The private subnet uses the endpoint if its route table is certainly in the list, and its NAT if it is certainly not."""
    plan: PlanBuilder = nat_route(network())
    for address in ("counted[0]", "counted[1]", 'keyed["a"]', 'keyed["b"]'):
        values = {"id": UNKNOWN, "vpc_id": UNKNOWN, "route": UNKNOWN}
        plan.add(f"aws_route_table.{address}", values, {"vpc_id": ["aws_vpc.this.id", "aws_vpc.this"]})
    names = [f"{name}.id" if name == PRIVATE else name for name in refers_to]
    endpoint(plan, names)
    plan.document["variables"] = {"with": {"value": "yes"}}
    (tmp_path / "main.tf").write_text(SOURCE.replace("EXPRESSION", expression), encoding="utf-8")
    result = invoke(["scan", "--plan", str(plan.write(tmp_path)), "--format", "json"])
    rows = json.loads(result.stdout)["subnets"]
    assert {row["reason"] for row in rows if row["address"] == "aws_subnet.private"} == {expected}


MODULE = """
variable "table" {}
variable "prefix" {
  default = "rtb"
}
output "tables" {
  value = { given = var.table, named = var.prefix }
}
"""
CALL = """
module "relay" {
  source   = "./relay"
  for_each = { only = aws_route_table.private.id }
  table    = each.value
}
resource "aws_vpc" "this" {}
resource "aws_route_table" "private" {
  vpc_id = aws_vpc.this.id
}
resource "aws_vpc_endpoint" "s3express" {
  vpc_id          = aws_vpc.this.id
  service_name    = "com.amazonaws.us-east-1.s3express"
  route_table_ids = [for relay in module.relay : relay.tables.given]
}
"""


@pytest.mark.parametrize("is_installed", [False, True])
def test_modules_give_each_other_values(tmp_path: Path, is_installed: bool) -> None:
    """Arguments, for_each, default values, and outputs are followed into the folder of the module, or of its copy."""
    plan = endpoint(nat_route(network()), ["module.relay"])
    plan.add("aws_eip.this", {"id": UNKNOWN})
    eip = plan.document["resource_changes"][-1]
    eip.update(address='module.relay["only"].aws_eip.this', module_address='module.relay["only"]')
    plan.document["configuration"]["root_module"]["module_calls"] = {
        "relay": {
            "source": "./relay",
            "expressions": {"table": {"references": ["each.value"]}},
            "for_each_expression": {"references": [f"{PRIVATE}.id", PRIVATE]},
            "module": {"outputs": {"tables": {"expression": {"references": ["var.table", "var.prefix"]}}}},
        }
    }
    folder = tmp_path / ("installed" if is_installed else "relay")
    folder.mkdir()
    (folder / "main.tf").write_text(MODULE, encoding="utf-8")
    call = CALL.replace("./relay", "example.com/relay") if is_installed else CALL
    (tmp_path / "main.tf").write_text(call, encoding="utf-8")
    if is_installed:
        (tmp_path / ".terraform" / "modules").mkdir(parents=True)
        listed = {"Modules": [{"Key": "", "Dir": "."}, {"Key": "relay", "Dir": "installed"}]}
        (tmp_path / ".terraform" / "modules" / "modules.json").write_text(json.dumps(listed), encoding="utf-8")
    result = invoke(["scan", "--plan", str(plan.write(tmp_path)), "--format", "json"])
    assert result.exit_code == 0, result.output
    assert [row["reason"] for row in json.loads(result.stdout)["subnets"]] == ["ENDPOINT"]
