"""A plan is judged as a scan judges the network after its apply: real Terraform, real provider, generated configurations."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from config_rule_sandbox.server import Sandbox
from express_path.domain.path.reasons import SEVERITY_ORDER, Reason
from express_path_cli.findings.worklist import CROSSES_NAT
from tests.support.command import invoke
from tests.support.terraform import Workspace, needs_terraform
from tests.terraform.configurations import ASSOCIATED, FAMILIES, MISLEADING, POPULAR, Versions, files_of

pytestmark = pytest.mark.slow

HEAD = """
terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}
provider "aws" {}
"""
PER_FAMILY = 9
"""How many configurations of each family `make verify` applies."""


@pytest.fixture
def workspace(sandbox: Sandbox, tmp_path: Path) -> Iterator[Workspace]:
    """Yield an empty folder in which Terraform works."""
    needs_terraform()
    with Workspace(tmp_path, sandbox) as made:
        yield made


def write(workspace: Workspace, modules: Sequence[str]) -> None:
    """Write a configuration that calls each of these modules once."""
    for number, text in enumerate(modules):
        for name, content in files_of(text).items():
            file = workspace.folder / f"c{number}" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
    calls = (f'module "c{number}" {{\n  source = "./c{number}"\n}}\n' for number in range(len(modules)))
    (workspace.folder / "main.tf").write_text(HEAD + "".join(calls), encoding="utf-8")


def scanned(*options: str) -> list[dict[str, Any]]:
    """Return the subnets of a scan."""
    result = invoke(["scan", "--format", "json", *options])
    assert result.exit_code in (0, 1), result.output
    rows: list[dict[str, Any]] = json.loads(result.stdout)["subnets"]
    return rows


@dataclass
class Score:
    """How many subnets of plans have the reason that they have after the apply, and which plans say better."""

    resolved: int = 0
    subnets: int = 0
    better: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)

    def add(self, planned: Sequence[dict[str, Any]], applied: dict[str, str], ids: dict[str, str]) -> None:
        """Compare the rows of a plan with the reason of each subnet after the apply, by its id."""
        for row in planned:
            actual = applied[row["subnetId"] or ids[row["address"]]]
            text = f"{row['address'] or row['subnetId']}: {row['reason']}, after the apply {actual}"
            self.subnets += 1
            if row["reason"] == actual:
                self.resolved += 1
            elif row["reason"] == Reason.UNRESOLVED_EGRESS:
                self.unresolved.append(text)
            elif {row["reason"], actual} <= CROSSES_NAT:
                continue  # a finding either way: what is certain of a path is enough for it
            elif SEVERITY_ORDER[Reason(row["reason"])] > SEVERITY_ORDER[Reason(actual)]:
                self.better.append(text)

    @property
    def rate(self) -> float:
        """The part of the subnets that is resolved."""
        return self.resolved / self.subnets


def judge(workspace: Workspace, versions: Sequence[Versions]) -> list[Score]:
    """Plan, judge, apply, and scan.

    Return the score with Terraform, without it, with it but without a network, and with a network from before it existed.
    """
    before, after = [list(texts) for texts in zip(*versions, strict=True)]
    ways = [[], ["--no-terraform"], ["--plan-only"]]
    if before != after:
        dump = str(workspace.folder / "older")
        assert invoke(["collect", dump]).exit_code == 0
        ways.append(["--from-dump", dump])
        write(workspace, before)
        workspace.init()
        workspace.run("apply", "-auto-approve", "-input=false")
    write(workspace, after)
    workspace.init()
    plan = str(workspace.plan_file())
    with pytest.MonkeyPatch.context() as patch:
        for name, value in workspace.started.items():
            patch.setenv(name, value)
        source = str(workspace.folder)
        planned = [scanned("--plan", plan, "--source", source, *way) for way in ways]
    workspace.apply_plan()
    applied = {row["subnetId"]: row["reason"] for row in scanned()}
    ids = {address: values["id"] for address, values in workspace.state().items() if "id" in values}
    scores = [Score() for _ in ways]
    for score, rows in zip(scores, planned, strict=True):
        score.add(rows, applied, ids)
    return scores


@pytest.mark.long
def test_the_code_of_a_finding_cures_it(workspace: Workspace) -> None:
    """Appended to the configuration, it takes every subnet of the next plan off the NAT."""
    main = workspace.folder / "main.tf"
    main.write_text((Path(__file__).parent / "main.tf").read_text(encoding="utf-8"), encoding="utf-8")
    workspace.init()
    options = ("--plan", str(workspace.plan_file()), "--plan-only", "--no-terraform")
    document = json.loads(invoke(["scan", "--format", "json", *options]).stdout)
    assert document["totals"]["compliances"]["NON_COMPLIANT"] > 0
    with main.open("a", encoding="utf-8") as file:
        file.writelines(change["patches"].get("terraform", "") for change in document["changes"])
    options = ("--plan", str(workspace.plan_file()), *options[2:])
    assert "NON_COMPLIANT" not in {row["compliance"] for row in scanned(*options)}


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_generated_configurations(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No plan says better than a scan after the apply. Terraform resolves 99 % of the subnets, and references alone 63 %.

    A plan lists the references of an argument, not how they are used: [a.id, b.id] looks like (c ? a.id : b.id).
    """
    needs_terraform()
    totals, rates = [Score(), Score()], {}
    for family, generate in FAMILIES.items():
        sandbox.reset()
        with Workspace(tmp_path_factory.mktemp(family), sandbox) as workspace:
            versions = [generate(Random(f"{family} {number}")) for number in range(PER_FAMILY)]
            scores = judge(workspace, versions)
        assert not any(score.better for score in scores), (family, [score.better for score in scores])
        if family == "conditions":
            continue  # nobody knows these values before the apply
        rates[family] = [round(score.rate, 2) for score in scores]
        for total, score in zip(totals, scores, strict=False):
            total.resolved, total.subnets = total.resolved + score.resolved, total.subnets + score.subnets
            total.unresolved += score.unresolved
    assert totals[0].rate >= 0.99, (rates, totals[0].unresolved)
    assert totals[1].rate >= 0.63, rates


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("shapes", "alone"), [(POPULAR, 0.7), (ASSOCIATED, 0.3)], ids=["popular", "associated"])
def test_shapes(workspace: Workspace, shapes: dict[str, str], alone: float) -> None:
    """Every subnet of every shape is resolved by Terraform, and by references alone, as many as these say."""
    scores = judge(workspace, [(text, text) for text in shapes.values()])
    assert [score.better for score in scores] == [[], [], []]
    assert scores[0].unresolved == []
    assert scores[1].rate > alone


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("half", [0, 1])  # an account has at most 20 gateway endpoints in a Region
def test_misleading_configurations(workspace: Workspace, half: int) -> None:
    """No plan says better than a scan after the apply, whatever decides that nobody knows before it."""
    scores = judge(workspace, [(text, text) for text in [*MISLEADING.values()][half::2]])
    assert [score.better for score in scores] == [[] for _ in scores]
