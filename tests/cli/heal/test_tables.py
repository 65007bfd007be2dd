"""express-path heal with several targets: one plan, one question, and a run for each route table."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from config_rule_sandbox.server import Sandbox
from express_path.domain.heal.records import Blocker, Concern, PlanAction
from express_path_cli.automation import runs
from express_path_cli.automation.answers import PlanAnswer, PlannedVerdict
from express_path_cli.heal.tables import TablePlan, TableTarget, plan_lines, table_plans
from express_path_cli.terminal.errors import OptionError
from tests.cli.heal.healing_stack import cancel, invoke_at_terminal, make_stack, require_approval
from tests.support.command import invoke
from tests.support.heals import Deployment, Vpc
from tests.support.network import Builder

pytestmark = pytest.mark.slow


def network(deployment: Deployment, vpcs: list[Vpc]) -> object:
    """Return the routes and the endpoints of VPCs, as EC2 describes them."""
    return [(deployment.tables(vpc.id), deployment.endpoints(vpc.id)) for vpc in vpcs]


def lines_about(shown: str, resource_id: str) -> list[str]:
    """Return the lines of the plan about a resource."""
    return [line for line in shown.splitlines() if line.startswith(f"  {resource_id}: ")]


def commands(shown: str, start: str) -> list[list[str]]:
    """Return the arguments of the commands that lines with this start end with."""
    found = [line.partition(start)[2] for line in shown.splitlines() if line.strip().startswith(start)]
    return [line.partition("express-path ")[2].split() for line in found]


def scanned(file: Path, more: list[dict[str, str]]) -> Path:
    """Write what a scan finds here to a file, with more rows."""
    assert invoke(["scan", "--format", "json", "--output", str(file)]).exit_code == 1
    document = json.loads(file.read_text(encoding="utf-8"))
    document["subnets"] += more
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def compliances() -> Counter[str]:
    """Return how many subnets of the tests' VPCs have each compliance that the rule reports."""
    found = json.loads(invoke(["scan", "--format", "json"]).stdout)["subnets"]
    return Counter(row["compliance"] for row in found if row["reason"] in ("ENDPOINT", "NAT_GATEWAY"))


def row(**values: str) -> dict[str, str]:
    """Return a NON_COMPLIANT row of a scan."""
    here = {"accountId": "123456789012", "region": "us-east-1", "subnetId": "subnet-00000000"}
    return {**here, "compliance": "NON_COMPLIANT", "reason": "NAT_GATEWAY"} | values


def test_tables_of_a_scan(deployment: Deployment, builder: Builder, tmp_path: Path) -> None:
    """One plan for all: the blocked table is skipped, the failed one is named, and the commands undo everything."""
    first, second = Vpc(builder, tables=3, subnets=2), Vpc(builder, tables=2)
    blocked, failing = first.tables[2], second.tables[0]
    builder.route(blocked, "192.0.2.1/32", NatGatewayId=first.nat)
    others = [row(region="eu-west-1"), row(accountId="210987654321"), row(subnetId="subnet-0123456789abcdef0")]
    file = scanned(tmp_path / "scan.json", others)
    before = network(deployment, [first, second])
    deployment.sandbox.faults.deny("ec2", "ModifyVpcEndpoint", AddRouteTableIds=[failing])
    result = invoke_at_terminal(["heal", "--from", str(file), "--keep-going"], "y\n")
    assert result.returncode == 2, result.stderr
    plan, question, progress = result.stdout.partition(" of 2 VPCs in account 123456789012 us-east-1? [y/N]")
    assert question
    assert plan.count("create gateway endpoint com.amazonaws.us-east-1.s3express (ipv4)") == 2
    line, judged = lines_about(plan, first.tables[0])
    assert judged.endswith(
        "no policy of a directory bucket or access point was checked, nor identity policies, SCPs, RCPs, and policies of other accounts' buckets"
    )
    assert "open TCP connections to S3 Express from 6 subnets will drop" in plan
    assert line.endswith(f"associate with the new endpoint; 2 subnets move: {', '.join(sorted(first.subnets[:2]))}")
    assert any("BLOCKED for " in line for line in lines_about(plan, blocked))
    assert any("MORE_SPECIFIC_ROUTE: 192.0.2.1/32" in line for line in lines_about(plan, blocked))
    assert "4 to heal, 1 blocked" in plan.splitlines()
    [cause] = [line for line in progress.splitlines() if line.startswith("  associate failed: ")]
    assert "An error occurred (UnauthorizedOperation) when calling the ModifyVpcEndpoint operation" in cause
    assert "3 healed, 1 failed" in progress.splitlines()
    expected = (
        f"account 123456789012 eu-west-1 (run: express-path heal --from {file} --region eu-west-1)",
        f"with credentials of that account, run: express-path heal --from {file} --region us-east-1)",
        "skipped subnet-0123456789abcdef0: it was deleted after the scan",
        f"express-path: {failing}: run ",
    )
    for line, text in zip(result.stderr.splitlines(), expected, strict=True):
        assert text in line
    assert compliances() == {"COMPLIANT": 5, "NON_COMPLIANT": 3}
    for vpc in (first, second):
        assert len(deployment.endpoints(vpc.id)) == 1
    [undo_all] = commands(progress, "to undo all of these heals: ")
    [undo_failed] = commands(progress, "to undo its changes, if any: ")
    assert len(undo_all) == 6
    assert invoke([*undo_all, "--yes"]).exit_code == 0
    undone = invoke([*undo_failed, "--yes"])  # the failed run has confirmed nothing, unless it created the endpoint
    assert undone.exit_code == 0 or "not undone" in undone.stdout, undone.stderr
    assert network(deployment, [first, second]) == before


@pytest.mark.usefixtures("deployment")
def test_a_blocked_table_shows_the_patch_for_its_owner(builder: Builder) -> None:
    """What has a Name tag is found by it; the endpoint belongs to a stack, so its template is to be changed."""
    vpc = Vpc(builder)
    builder.tag(vpc.table, "Name", "data-private")
    builder.tag(builder.endpoint(vpc.id), "aws:cloudformation:stack-name", "network")
    shown = invoke(["heal", "data-private"])
    assert shown.exit_code == 1
    assert "1 blocked, 1 with nothing to do" in invoke(["heal", vpc.id]).stdout.splitlines()
    lines = lines_about(shown.stdout, vpc.table)
    assert any("OWNED_BY_IAC" in line for line in lines)
    patch = yaml.safe_load(shown.stdout[shown.stdout.index("# Stack network: change\n") :].partition("1 blocked")[0])
    [made] = patch["Resources"].values()
    assert made["Properties"]["RouteTableIds"] == [vpc.table]


def test_the_dry_run_of_tables_changes_nothing(deployment: Deployment, builder: Builder) -> None:
    """A table is planned once for each kind of its subnets; one without work or subnets is named; nothing changes."""
    vpc = Vpc(builder, tables=2, subnets=2)
    vpc.add_ipv6(builder, vpc.subnets[3])
    healed, unused = builder.table(vpc.id), builder.table(vpc.id)
    builder.associate(healed, builder.subnet(vpc.id))
    endpoint = builder.endpoint(vpc.id, healed)
    deployment.sandbox.calls.clear()
    targets = [*vpc.subnets[:2], vpc.tables[1], healed, unused]
    result = invoke(["heal", *targets, "--region", "us-east-1", "--dry-run"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(deployment.sandbox.calls.of("ssm", "StartAutomationExecution")) == 4
    for table in vpc.tables:
        assert f"associate with {endpoint}; 2 subnets move" in lines_about(result.stdout, table)[0]
    assert "nothing to do: " in lines_about(result.stdout, healed)[0]
    assert lines_about(result.stdout, unused) == [f"  {unused}: nothing to do: no subnet uses it"]
    assert "2 to heal, 2 with nothing to do" in result.stdout.splitlines()
    assert "plan for 4 route tables in account 123456789012 us-east-1:" in result.stdout.splitlines()
    again = f"express-path heal {' '.join(targets)} --region us-east-1"
    assert result.stdout.splitlines()[-1] == f"nothing was changed; to heal: {again}"
    assert deployment.changes() == []


def test_the_first_failure_stops_the_others(
    deployment: Deployment, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Route tables after the failed one are not started, and the output has the command that heals them.

    One line has the failed step and AWS's message.
    """
    monkeypatch.setattr(runs, "PARALLEL_RUNS", 1)
    vpc = Vpc(builder, tables=3)
    deployment.sandbox.faults.deny("ec2", "CreateVpcEndpoint")
    result = invoke(["heal", *vpc.tables, "--yes"])
    assert result.exit_code == 2
    _, *rest = sorted(vpc.tables)
    assert "no more runs are started (2 left); --keep-going starts them too" in result.stdout.splitlines()
    assert "0 healed, 1 failed, 2 not started" in result.stdout.splitlines()
    assert commands(result.stdout, "to heal those that were not started: ") == [
        ["heal", *rest, "--region", "us-east-1"]
    ]
    [line] = result.stderr.splitlines()
    assert "ended with Failed: step create failed: An error occurred (UnauthorizedOperation)" in line
    assert "not authorized" in line


def test_a_function_that_may_not_be_invoked(deployment: Deployment, builder: Builder) -> None:
    """The cause is the step that a person has to repair, not the step that could not explain it."""
    deployment.sandbox.faults.deny("lambda", "Invoke")
    result = invoke(["heal", Vpc(builder).tables[0], "--yes"])
    assert result.exit_code == 2
    [line] = result.stderr.splitlines()
    assert "ended with Failed: makePlan: " in line
    assert "not authorized" in line


def test_a_blocked_table_beside_healed_ones_is_told_by_the_status(deployment: Deployment, builder: Builder) -> None:
    """The other route table is healed, and the status is 1."""
    vpc = Vpc(builder, tables=2)
    builder.route(vpc.tables[0], "192.0.2.1/32", NatGatewayId=vpc.nat)
    result = invoke(["heal", *vpc.tables, "--yes"])
    assert (result.exit_code, result.stderr) == (1, "")
    assert list(deployment.associations(vpc.id).values()) == [[vpc.tables[1]]]


def test_a_plan_that_fails_stops_everything(deployment: Deployment, builder: Builder) -> None:
    """Without every plan nothing is healed, because nobody could agree to it."""
    vpc = Vpc(builder, tables=2)
    deployment.sandbox.faults.deny("ec2", "DescribeNetworkAcls")
    result = invoke(["heal", *vpc.tables, "--yes"])
    assert result.exit_code == 2
    assert f"2 without a plan ({', '.join(sorted(vpc.tables))})" in result.stdout.splitlines()
    assert "nothing was changed: a plan is missing; --keep-going heals the others" in result.stdout.splitlines()
    assert deployment.changes() == []


def test_ctrl_c_names_the_runs_that_continue(
    deployment: Deployment, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After Ctrl-C, each run that continues has its undo command, and tables without a run are named."""
    monkeypatch.setattr(runs, "PARALLEL_RUNS", 1)
    vpc = Vpc(builder, tables=2)

    def interrupt(_seconds: float) -> None:
        if len(deployment.sandbox.calls.of("ssm", "StartAutomationExecution")) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(runs.time, "sleep", interrupt)
    result = invoke(["heal", *vpc.tables, "--yes"])
    assert result.exit_code == 130
    started, waiting = sorted(vpc.tables)
    [run_id] = [line.rpartition(" ")[2] for line in result.stdout.splitlines() if line.startswith("heal of ")][:1]
    show = f"aws ssm get-automation-execution --automation-execution-id {run_id} --region us-east-1"
    assert result.stdout.splitlines()[-3:] == [
        f"heal of {started} continues: {show}",
        f"  to undo its changes after it has ended: express-path undo {run_id} --region us-east-1",
        f"heal was not started for {waiting}",
    ]


def test_approvers_are_asked_for_each_table(
    deployment: Deployment, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In mode APPROVAL, there is a request for each route table after one question, and its answer is not waited for."""
    vpc = Vpc(builder, tables=2)
    require_approval(deployment, monkeypatch)
    result = invoke(["heal", *vpc.tables, "--yes", "--stack", "asking"])
    assert result.exit_code == 0, result.stderr
    shown = result.stdout.splitlines()
    run_ids = [line.rpartition(" ")[2] for line in shown if line.startswith("asking the approvers: ")]
    assert [line for line in shown if line.startswith("rtb-")] == [f"{table}:" for table in sorted(vpc.tables)]
    assert len(run_ids) == 2
    for run_id in run_ids:
        assert f"--automation-execution-id {run_id}" in result.stdout
        cancel(deployment, run_id)
    assert deployment.changes() == []


@pytest.mark.usefixtures("deployment")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["rtb-0123456789abcdef0"], "rtb-0123456789abcdef0 does not exist (check --region and --profile)"),
        (["rtb-1"], "no subnet, and no route table or VPC that has subnets, is named rtb-1 (check the name"),
        ([], "give a subnet, a route table, or --from FILE (express-path heal --help shows the options)"),
        (["rtb-01234567", "--from", "scan.json"], "targets and --from cannot be used together"),
        (
            ["--from", "missing.json"],
            "missing.json cannot be read: No such file or directory (make one with: express-path",
        ),
    ],
)
def test_what_cannot_be_healed_is_one_line(given: list[str], message: str) -> None:
    """A mistake in the targets is one line, and the status is 2."""
    result = invoke(["heal", *given, "--dry-run"])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert message in line


@pytest.mark.usefixtures("deployment")
def test_a_scan_without_findings_needs_no_heal(tmp_path: Path) -> None:
    """If nothing of this account and Region is NON_COMPLIANT, the status is 0."""
    file = tmp_path / "scan.json"
    file.write_text(json.dumps({"schemaVersion": 1, "subnets": [row(compliance="COMPLIANT")]}), encoding="utf-8")
    result = invoke(["heal", "--from", str(file)])
    assert (result.exit_code, result.stderr) == (0, "")
    assert (
        result.stdout
        == "nothing to heal: no NON_COMPLIANT subnet of the scan still exists in this account and Region\n"
    )


def test_the_command_for_another_region_has_the_stack(deployment: Deployment, sandbox: Sandbox, tmp_path: Path) -> None:
    """The command that heals the subnets of another Region has the options of this one."""
    make_stack(sandbox, deployment, "other")
    file = tmp_path / "scan.json"
    file.write_text(json.dumps({"schemaVersion": 1, "subnets": [row(region="eu-west-1")]}), encoding="utf-8")
    result = invoke(["heal", "--from", str(file), "--stack", "other", "--dry-run"])
    assert (result.exit_code, result.stdout.startswith("nothing to heal")) == (0, True)
    assert f"(run: express-path heal --from {file} --stack other --region eu-west-1)" in result.stderr


WILL_NOT_CURE = Concern(Blocker.WOULD_NOT_CURE, "rtb-1", "64:ff9b::/96 | rtb-9 stays: yes\n--- cli", "give it IPv4")
"""A blocker whose evidence looks like what surrounds it in the summary of a run."""
DNS_IS_OFF = Concern(Blocker.DNS_ATTRIBUTES, "vpc-1", "off", "turn them on")


def planned(subnet_id: str, action: PlanAction, annotation: str, **fields: Any) -> PlanAnswer:
    """Return the plan of a dry run."""
    others = dict.fromkeys(("endpoint_id", "service_name", "ip_address_type"), "")
    concerns = dict.fromkeys(("blockers", "warnings", "judged"), ())
    return PlanAnswer(
        action=action,
        subnet_id=subnet_id,
        verdict=PlannedVerdict(annotation),
        **{"route_table_id": "rtb-1", "patches": {}, **others, **concerns, **fields},
    )


def test_a_table_can_be_healed_in_part() -> None:
    """If the endpoint cures some subnets of a table, the others are named with their blockers, each text once."""
    table = TableTarget("rtb-1", "vpc-1", ("subnet-1", "subnet-2", "subnet-3"), tuple(f"subnet-{n}" for n in range(30)))
    change = planned("subnet-3", PlanAction.ASSOCIATE, "NAT_GATEWAY: all", endpoint_id="vpce-1", warnings=(DNS_IS_OFF,))
    blocked = [
        planned(subnet_id, PlanAction.BLOCKED, "PARTLY_NAT: some traffic", blockers=(WILL_NOT_CURE,))
        for subnet_id in ("subnet-1", "subnet-2")
    ]
    whole = TablePlan(table, (*blocked, change))
    assert whole.heal is change
    named = ", ".join(f"subnet-{number}" for number in range(30))
    assert list(plan_lines([whole])) == [
        "vpc-1:",
        f"  rtb-1: associate with vpce-1; 30 subnets move: {named}",
        "  rtb-1: warning DNS_ATTRIBUTES: off; turn them on",
        "  rtb-1: no policy of a directory bucket or access point was checked, nor identity policies, SCPs, RCPs, and policies of other accounts' buckets",
        "  rtb-1: BLOCKED for subnet-1: PARTLY_NAT: some traffic",
        "  rtb-1: WOULD_NOT_CURE: 64:ff9b::/96 | rtb-9 stays: yes --- cli; give it IPv4",
    ]


def test_a_subnet_that_changes_its_table_meanwhile_is_refused() -> None:
    """The plan must be about the route table that is shown."""
    table = TableTarget("rtb-1", "vpc-1", ("subnet-1",), ("subnet-1",))
    with pytest.raises(OptionError, match="subnet-1 moved from rtb-1 to rtb-2"):
        table_plans([table], {"subnet-1": planned("subnet-1", PlanAction.ASSOCIATE, "", route_table_id="rtb-2")})
