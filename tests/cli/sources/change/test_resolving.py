"""Terraform plans once more: what is asked, what it may see, what is left behind, and what is believed."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from express_path_cli.sources.change import resolving
from express_path_cli.sources.change.resolving import NotResolvedError
from express_path_cli.sources.change.resource import OPEN, NewId
from express_path_cli.sources.change.terraform import TerraformPlan
from tests.support.terraform import needs_terraform, provider, terraform

AWS = "registry.terraform.io/hashicorp/aws"
CONFIGURED = {"aws": {"name": "aws", "full_name": AWS}}
PLAN: dict[str, Any] = {
    "format_version": "1.2",
    "resource_changes": [],
    "configuration": {"provider_config": CONFIGURED},
    "variables": {"secret": {"value": "hunter2"}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a configuration that looks initialized."""
    (tmp_path / "network" / ".terraform").mkdir(parents=True)
    return tmp_path / "network"


def resolve(document: dict[str, Any], folder: Path, program: str) -> Sequence[Mapping[str, Any]]:
    """Read a plan and resolve it."""
    plan = TerraformPlan("plan.json", document)
    return resolving.resolve(plan.document, plan.overrides(), folder, program)


def fake(folder: Path, test: str = "", version: str = "Terraform v1.11.4") -> str:
    """Return a program that answers like Terraform, and executes shell commands for `test`."""
    program = folder / "fake"
    program.write_text(f'#!/bin/sh\ncase "$1" in\nversion) echo {version};;\ntest) {test};;\nesac\n')
    program.chmod(0o755)
    return str(program)


def remote_state(after: Mapping[str, object]) -> dict[str, Any]:
    """Return a data source that is read during the apply."""
    change = {"actions": ["read"], "after": after, "after_unknown": {"outputs": True}}
    kind = "terraform_remote_state"
    provider_name = "terraform.io/builtin/terraform"
    row = {"address": f"data.{kind}.s", "mode": "data", "type": kind, "name": "s", "change": change}
    return {"resource_changes": [row | {"provider_name": provider_name}]}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"complete": False}, "-target"),
        (
            {
                "configuration": {
                    "provider_config": {
                        "m:aws": {**CONFIGURED["aws"], "module_address": "module.m", "expressions": {"region": {}}}
                    }
                }
            },
            "a module configures a provider",
        ),
        (remote_state({}), "terraform_remote_state"),
    ],
)
def test_plans_that_terraform_is_not_asked_about(folder: Path, change: dict[str, Any], reason: str) -> None:
    """What mocks cannot stand in for would be read with the user's credentials."""
    with pytest.raises(NotResolvedError, match=reason):
        resolve(PLAN | change, folder, fake(folder, "touch asked"))
    assert not (folder / "asked").exists()


@pytest.mark.parametrize("version", ["Terraform v1.10.5", "OpenTofu v1.11.0"])
def test_other_versions(folder: Path, version: str) -> None:
    """Terraform 1.11 is the first that can override resources of a plan."""
    with pytest.raises(NotResolvedError, match=r"1\.11"):
        resolve(PLAN, folder, fake(folder, version=version))


def test_missing_program_and_folder(folder: Path) -> None:
    """The program and an initialized configuration are needed."""
    with pytest.raises(NotResolvedError, match="nowhere is not a program"):
        resolve(PLAN, folder, "nowhere")
    (folder / ".terraform").rmdir()
    with pytest.raises(NotResolvedError, match="not initialized"):
        resolve(PLAN, folder, fake(folder))


def test_every_program_is_of_the_user(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is one of the current folder, not of the configuration, and PATH does not lead into either."""
    planted = ("terraform", "sh", "unshare", "bin/terraform")
    trap, mine = tmp_path / "trap", tmp_path / "mine"
    for program in [folder / name for name in planted] + [mine / "bin" / "terraform"]:
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f'#!{shutil.which("sh")}\necho "$0" >> {trap}\necho Terraform v1.9.0\n')
        program.chmod(0o755)
    monkeypatch.chdir(mine)
    with pytest.raises(NotResolvedError, match=r"1\.11"):
        resolve(PLAN, folder, "bin/terraform")
    assert trap.read_text() == f"{mine}/bin/terraform\n"
    trap.unlink()
    monkeypatch.chdir(folder)
    for path in (".", "", "bin"):
        monkeypatch.setenv("PATH", os.pathsep.join((path, "/nowhere")))
        with pytest.raises(NotResolvedError, match="is not a program"):
            resolve(PLAN, folder, "")
        monkeypatch.setenv("PATH", os.pathsep.join((path, str(mine / "bin"), "/usr/bin", "/bin")))
        with pytest.raises(NotResolvedError, match=r"1\.11"):
            resolve(PLAN, folder, "")
        assert trap.read_text() == f"{mine}/bin/terraform\n"
        trap.unlink()


def test_what_terraform_sees(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No credentials, variables, or arguments; the files are the user's alone, and variables are outside the folder."""
    hidden = (
        "AWS_SECRET_ACCESS_KEY",
        "TF_VAR_secret",
        "TF_TOKEN_app_terraform_io",
        "TF_LOG",
        "TF_CLI_ARGS",
        "TF_CLI_ARGS_test",
    )
    for name in (
        *hidden,
        "TF_CLI_CONFIG_FILE",
        "GIT_SSH_COMMAND",
        "GIT_CONFIG_GLOBAL",
        "LD_PRELOAD",
        "BASH_ENV",
        "ENV",
    ):
        monkeypatch.setenv(name, "exposed")
    seen = 'env > "env.$$"; stat -c "%a %n" .express-path-*/* "${5#*=}" > "files.$$"; cat "${5#*=}" > "variables.$$"'
    test = seen.replace("${5#*=}", "$(echo $* | sed s/.*-var-file=//)")
    with pytest.raises(NotResolvedError, match="second plan failed"):
        resolve(PLAN, folder, fake(folder, test))
    [environment, *_] = [file.read_text() for file in folder.glob("env.*")]
    assert "exposed" not in environment
    assert f"HOME={Path.home()}\n" not in environment
    assert "AWS_CONFIG_FILE=/dev/null" in environment
    lines = [line for file in folder.glob("files.*") for line in file.read_text().splitlines()]
    assert lines
    assert all(line.startswith("600 ") for line in lines)
    assert [json.loads(file.read_text()) for file in folder.glob("variables.*")] == [{"secret": "hunter2"}]
    assert not [file for file in folder.rglob("*") if "hunter2" in file.name or file.name.startswith(".express-path-")]


def is_running(number: str) -> bool:
    """Return whether a process runs. Init may not have collected one that was killed."""
    try:
        return " Z " not in Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("interrupt", [False, True], ids=["too long", "Ctrl-C"])
def test_nothing_is_left(folder: Path, monkeypatch: pytest.MonkeyPatch, interrupt: bool) -> None:
    """A run that takes too long or is interrupted is killed with its children, and its files are removed."""
    monkeypatch.setattr(resolving, "SECONDS", 2)
    child = folder / "child"

    def sleep(_: float) -> None:
        if interrupt and child.exists() and child.read_text():
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt if interrupt else NotResolvedError):
        resolve(PLAN, folder, fake(folder, "sleep 60 & echo $! > child; wait"))
    deadline = time.monotonic() + 10
    while is_running(child.read_text().strip()):
        assert time.monotonic() < deadline
    assert not list(folder.glob(".express-path-*"))


CONFIGURATION = """
terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}
provider "aws" {
  region                      = "us-east-1"
  access_key                  = "x"
  secret_key                  = "y"
  skip_credentials_validation = true
  skip_requesting_account_id  = true
}
variable "optional" {
  default = null
}
variable "text" {
  default = "$${x} %%{y} \\"quoted\\"\\n"
}
resource "aws_vpc" "old" {
  cidr_block = "10.1.0.0/16"
}
resource "aws_route_table" "old" {
  vpc_id = aws_vpc.old.id
}
resource "aws_vpc" "v" {
  cidr_block = "10.0.0.0/16"
  tags       = { Text = var.text }
}
resource "aws_subnet" "s" {
  count      = 2
  vpc_id     = aws_vpc.v.id
  cidr_block = cidrsubnet(aws_vpc.v.cidr_block, 8, count.index)

  availability_zone = "us-east-1a"
}
resource "aws_eip" "e" {}
resource "aws_nat_gateway" "n" {
  for_each          = { a = aws_subnet.s[0].id, b = aws_subnet.s[1].id }
  connectivity_type = "private"
  subnet_id         = each.value
}
resource "aws_nat_gateway" "asked" {
  allocation_id = aws_eip.e.id
  subnet_id     = aws_subnet.s[0].id
}
resource "aws_route_table" "t" {
  count  = 3
  vpc_id = aws_vpc.v.id
}
locals {
  tables = var.optional == null ? aws_route_table.t[*].id : []
  asked  = aws_nat_gateway.asked
}
resource "aws_default_route_table" "main" {
  default_route_table_id = aws_vpc.v.default_route_table_id
}
resource "aws_vpc_endpoint" "x" {
  vpc_id          = aws_vpc.v.id
  service_name    = "com.amazonaws.us-east-1.s3express"
  route_table_ids = var.optional == null ? null : local.tables
  policy          = jsonencode({ vpc = aws_vpc.v.id })
}
resource "aws_networkfirewall_firewall" "f" {
  name                = "f"
  vpc_id              = aws_vpc.v.id
  firewall_policy_arn = "arn:aws:network-firewall:us-east-1:111122223333:firewall-policy/p"
  subnet_mapping {
    subnet_id = aws_subnet.s[1].id
  }
}
resource "aws_route" "firewall" {
  route_table_id         = local.tables[2]
  destination_cidr_block = "0.0.0.0/0"
  vpc_endpoint_id = one([
    for state in aws_networkfirewall_firewall.f.firewall_status[0].sync_states :
    state.attachment[0].endpoint_id if state.attachment[0].subnet_id == aws_subnet.s[1].id
  ])
}
check "unknown" {
  assert {
    condition     = aws_vpc.v.owner_id == "111122223333"
    error_message = "another account"
  }
}
"""
ROUTES = {
    "element": "element(local.tables, 4)",
    "main": "aws_default_route_table.main.id",
    "adopted": "aws_default_route_table.main.id == aws_vpc.v.main_route_table_id ? local.tables[0] : local.tables[1]",
    "network": "one([for t in [aws_default_route_table.main] : t.vpc_id]) == aws_vpc.v.id ? local.tables[0] : local.tables[1]",
    "state": '[for e in [aws_vpc_endpoint.x] : e.state][0] == "available" ? local.tables[0] : local.tables[1]',
    "same": "contains(sort(slice(local.tables, 0, 2)), local.tables[1]) ? local.tables[0] : local.tables[2]",
    "known text": 'lookup({ for t in ["a", "b"] : t => local.tables[0] }, "a", null)',
    "text": 'var.text == "$${x} %%{y} \\"quoted\\"\\n" ? local.tables[0] : local.tables[1]',
    "eip": 'aws_eip.e.public_ip == "192.0.2.1" ? local.tables[0] : local.tables[1]',
    "asked": 'aws_nat_gateway.asked.private_ip == "10.0.0.9" ? local.tables[0] : local.tables[1]',
    "through a local": 'local.asked.private_ip == "10.0.0.9" ? local.tables[0] : local.tables[1]',
    "default": "aws_subnet.s[0].map_public_ip_on_launch == false ? local.tables[0] : local.tables[1]",
    "owner": 'one([for t in [aws_route_table.t[0]] : t.owner_id]) == "1" ? local.tables[0] : local.tables[1]',
    "middle": "sort(local.tables)[1]",
    "mixed": "sort([local.tables[0], aws_route_table.old.id])[0]",
    "keys": "keys({ for t in local.tables : t => 1 })[0]",
    "set": "tolist(toset(local.tables))[0]",
}
"""The route table of each route."""
BELIEVED = {
    "element": "aws_route_table.t[1]",
    "main": "aws_vpc.v.default_route_table_id",
    "adopted": "aws_route_table.t[0]",
    "network": "aws_route_table.t[0]",
    "state": "aws_route_table.t[0]",
    "known text": "aws_route_table.t[0]",
    "same": "aws_route_table.t[0]",
    "text": "aws_route_table.t[0]",
}
OLD = {
    "aws_vpc": {"id": "vpc-0aaa", "cidr_block": "10.1.0.0/16", "instance_tenancy": "default"},
    "aws_route_table": {"id": "rtb-0aaa", "vpc_id": "vpc-0aaa"},
}
"""A state with two resources, by type."""
EVIL = 'run "evil" {\n  command = apply\n}\nrun "fails" {\n  assert {\n    condition = aws_vpc.v.cidr_block == "x"\n    error_message = "no"\n  }\n}\n'


def run(folder: Path, *arguments: str) -> str:
    """Run Terraform."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "CHECKPOINT_DISABLE": "1"}
    command = [terraform() or "", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout


def planned(folder: Path) -> Any:
    """Initialize a configuration over a state, and return its plan."""
    needs_terraform()
    routes = (
        f'resource "aws_route" "{name.replace(" ", "_")}" {{\n  route_table_id = {table}\n'
        '  destination_cidr_block = "0.0.0.0/0"\n  nat_gateway_id = aws_nat_gateway.n["b"].id\n}\n'
        for name, table in ROUTES.items()
    )
    (folder / "main.tf").write_text(CONFIGURATION + "".join(routes))
    rows = [
        {
            "mode": "managed",
            "type": kind,
            "name": "old",
            "provider": f'provider["{AWS}"]',
            "instances": [{"schema_version": {"aws_vpc": 1}.get(kind, 0), "attributes": values}],
        }
        for kind, values in OLD.items()
    ]
    state = {"version": 4, "terraform_version": "1.11.0", "serial": 1, "lineage": "x", "resources": rows}
    (folder / "terraform.tfstate").write_text(json.dumps(state))
    found = provider()
    assert found
    run(folder, "init", f"-plugin-dir={found.parents[5]}")
    run(folder, "plan", "-refresh=false", "-out=plan.out")
    return json.loads(run(folder, "show", "-json", "plan.out"))


def each(found: Sequence[Mapping[str, Any]], address: str, name: str = "route_table_id") -> list[Any]:
    """Return a value in each order of ids."""
    return [values[address][name] for values in found]


@pytest.mark.long
def test_real_terraform(tmp_path: Path) -> None:
    """Terraform resolves what follows from ids, and leaves open what only AWS knows; no test of the folder runs."""
    plan = planned(tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "evil.tftest.hcl").write_text(EVIL)
    (tmp_path / "root.tftest.hcl").write_text(EVIL)
    before = set(tmp_path.rglob("*"))
    found = resolve(plan, tmp_path, "")
    assert set(tmp_path.rglob("*")) == before
    assert isinstance(found[0]["aws_route.element"]["route_table_id"], NewId)
    assert each(found, "aws_route.element", "nat_gateway_id") == ['aws_nat_gateway.n["b"]'] * 6
    for name in ROUTES:
        tables = each(found, f"aws_route.{name.replace(' ', '_')}")
        if name in BELIEVED:
            assert tables == [BELIEVED[name]] * 6, name
        else:
            assert tables == [OPEN] * 6 or len(set(tables)) > 1, name
    assert each(found, "aws_vpc_endpoint.x", "route_table_ids") == [[]] * 6
    assert each(found, "aws_route.firewall", "vpc_endpoint_id") == ["aws_networkfirewall_firewall.f.endpoint[0]"] * 6
    main = tmp_path / "main.tf"
    main.write_text(main.read_text().replace("10.0.0.0/16", "10.9.0.0/16"))
    with pytest.raises(NotResolvedError, match=r"not that of the plan: aws_subnet\.s\[0\]\.cidr_block differs"):
        resolve(plan, tmp_path, "")
