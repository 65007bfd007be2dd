"""Which values of a configuration may follow from an attribute, and from the order of ids, by its sources."""

from collections.abc import Collection
from pathlib import Path

import pytest

from express_path_cli.sources.change.configuration import EVERY, Configuration, Value

NETWORK = """
resource "aws_vpc" "v" {
  cidr_block = "10.0.0.0/16" # aws_vpc.v.owner_id
}
resource "aws_subnet" "s" {
  count  = 3
  vpc_id = aws_vpc.v.id
}
resource "aws_route_table" "t" {
  for_each = { a = 1, b = 2 }
  vpc_id   = aws_vpc.v.id
}
resource "aws_vpc_endpoint" "e" {
  subnet_ids = aws_subnet.s[*].id
}
resource "aws_networkfirewall_firewall" "f" {
  vpc_id = aws_vpc.v.id
}
data "aws_ssm_parameter" "secret" {
  name = "secret"
}
variable "key" {}
variable "zones" {}
locals {
  vpc    = aws_vpc.v
  subnet = { for key, subnet in aws_subnet.s : key => subnet }
}
module "m" {
  source = "./m"
  vpc    = aws_vpc.v
  zones  = var.zones
}
output "owner" {
  value = aws_vpc.v.owner_id
}
"""
MODULE = """
variable "vpc" {}
variable "zones" {}
output "id" {
  value = var.vpc.id
}
output "owner" {
  value = "${var.vpc.owner_id}-x"
}
output "unread" {
  value = var.vpc[var.zones[0]]
}
"""
UNTRUE = {"aws_vpc.v": {"owner_id"}, "data.aws_ssm_parameter.secret": {EVERY}}
WANTED = Value("argument", "aws_route.r", "route_table_id")


def configuration(folder: Path, expression: str, more: str = "") -> Configuration:
    """Read a configuration in which a route has an expression."""
    (folder / "m").mkdir()
    (folder / "m" / "main.tf").write_text(MODULE)
    listed = '{"Modules": [{"Key": "", "Dir": "."}, {"Key": "m", "Dir": "m"}]}'
    (folder / ".terraform" / "modules").mkdir(parents=True)
    (folder / ".terraform" / "modules" / "modules.json").write_text(listed)
    (folder / "empty.tf").touch()
    route = f'resource "aws_route" "r" {{\n  count = 2\n  route_table_id = {expression}\n}}\n'
    (folder / "main.tf").write_text(NETWORK + route + more)
    return Configuration(folder, folder / ".terraform")


def is_doubtful(found: Configuration, is_later: Collection[Value] = ()) -> bool:
    """Return whether the route's table may follow from an attribute that is not true."""
    return WANTED in found.doubtful([WANTED], UNTRUE, lambda value: value in is_later)


@pytest.mark.parametrize(
    "expression",
    [
        "aws_vpc.v.owner_id",
        'aws_vpc.v["owner_id"]',
        "aws_vpc.v[var.key]",
        "local.vpc.owner_id",
        "local.vpc[var.key]",
        'lookup(local.vpc, "owner_id", null)',
        "lookup(local.vpc, var.key, null)",
        "[for v in [aws_vpc.v] : v.owner_id][0]",
        "[for v in [aws_vpc.v] : v[var.key]][0]",
        "[for name, value in aws_vpc.v : value][3]",
        "[for name, value in local.vpc : value][3]",
        "values(aws_vpc.v)[3]",
        "merge(local.vpc, {})[var.key]",
        "jsonencode(aws_vpc.v)",
        'templatefile("x", { v = aws_vpc.v })',
        "aws_vpc.v == module.m ? 1 : 2",
        "module.m.owner",
        "module.m[var.key]",
        '"${aws_vpc.v.owner_id}"',
        "<<EOT\n${aws_vpc.v.owner_id}\nEOT",
        "try(\n    one([aws_vpc.v]).owner_id,\n    null\n  )",
        "data.aws_ssm_parameter.secret.value",
        "substr(aws_vpc.v.id, 4, 1)",
        "plantimestamp()",
        "local.nowhere",
        "module.nowhere.id",
    ],
)
def test_values_that_may_follow_from_an_attribute(tmp_path: Path, expression: str) -> None:
    """It is read by name, or a whole resource is read in a way that does not say which attribute."""
    assert is_doubtful(configuration(tmp_path, expression))


@pytest.mark.parametrize(
    "expression",
    [
        "aws_vpc.v.id",
        "local.vpc.id",
        "module.m.id",
        "[for v in [aws_vpc.v] : v.id][0]",
        "aws_subnet.s[count.index].id",
        "element(aws_subnet.s[*].vpc_id, count.index + 1)",
        "values(aws_route_table.t)[*].id",
        "[for key, table in aws_route_table.t : table.id if contains(var.zones, key)]",
        "local.subnet[count.index].vpc_id",
        'lookup({ a = aws_vpc.v }, "a").id',
        "var.zones[var.key]",
        "aws_vpc.v != null ? aws_vpc.v.id : null",
        'split("/", aws_vpc.v.arn)[1]',
    ],
)
def test_values_that_do_not(tmp_path: Path, expression: str) -> None:
    """Comments, outputs that nobody reads, and other attributes of the same resource do not count."""
    assert not is_doubtful(configuration(tmp_path, expression))


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("more.tf.json", '{"locals": {"v": "${aws_vpc.v.owner_id}"}}'),
        ("more.tf", 'resource "aws_route" "other" {'),
        ("more.tf", 'locals {\n  text = "${never\n}\n'),
    ],
)
def test_all_of_a_module_is_doubtful_if_a_file_of_it_is_not_read(tmp_path: Path, file: str, text: str) -> None:
    """It may say anything about any value."""
    (tmp_path / file).write_text(text)
    assert is_doubtful(configuration(tmp_path, "aws_vpc.v.id"))


def test_what_follows_from_a_doubtful_value_is_doubtful(tmp_path: Path) -> None:
    """Through local values, for_each, and the arguments of other resources."""
    found = configuration(tmp_path, "aws_route_table.t[local.chosen].vpc_id", 'locals {\n  chosen = "a"\n}\n')
    assert not is_doubtful(found)
    assert is_doubtful(found, [Value("local", "", "chosen")])
    assert is_doubtful(found, [Value("argument", "aws_route_table.t", "vpc_id")])


@pytest.mark.parametrize(
    ("expression", "blocks"),
    [
        ("sort(aws_subnet.s[*].id)[0]", {"aws_subnet.s"}),
        ("tolist(toset([aws_vpc.v.id, local.vpc.id]))[0]", {"aws_vpc.v"}),
        ("keys({ for s in aws_subnet.s : s.id => 1 })[0]", {"aws_subnet.s", "aws_vpc.v"}),
        ("keys({ for id in aws_subnet.s[*].id : id => 1 })[0]", {"aws_subnet.s"}),
        ("keys({ (aws_vpc.v.id) = 1 })[0]", {"aws_vpc.v"}),
        ("values(zipmap(aws_subnet.s[*].id, var.zones))[0]", {"aws_subnet.s"}),
        ("[for id in aws_vpc_endpoint.e.subnet_ids : id][0]", {"aws_vpc_endpoint.e", "aws_subnet.s"}),
        ("flatten([aws_vpc_endpoint.e.subnet_ids])[0]", {"aws_vpc_endpoint.e", "aws_subnet.s"}),
        (
            "aws_networkfirewall_firewall.f.firewall_status[0].sync_states[*].attachment[0].endpoint_id",
            {"aws_networkfirewall_firewall.f"},
        ),
        ("toset(var.zones)", set()),
        ("{ for key, t in aws_route_table.t : key => t.id }", set()),
        ("{ for s in aws_subnet.s : s.availability_zone => s.id }", set()),
        ("values(aws_route_table.t)[*].id", set()),
        ("tolist(aws_subnet.s[*].id)[0]", set()),
        ('one([for s in aws_networkfirewall_firewall.f.firewall_status[0].sync_states : s if s.a == "b"])', set()),
    ],
)
def test_values_that_may_depend_on_the_order_of_ids(tmp_path: Path, expression: str, blocks: set[str]) -> None:
    """What comes out of a set, or of a map whose keys are ids, and what is sorted."""
    found = configuration(tmp_path, expression).in_order([WANTED])
    assert {block for value in found.values() for block in value} == blocks


def test_a_workspace(tmp_path: Path) -> None:
    """A plan does not say in which one it was made."""
    assert not configuration(tmp_path, '"terraform.workspace"').names_workspace
    (tmp_path / "more.tf").write_text('locals {\n  name = "${terraform.workspace}-x"\n}\n')
    assert Configuration(tmp_path, tmp_path / ".terraform").names_workspace
