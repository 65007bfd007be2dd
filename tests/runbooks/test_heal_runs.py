"""Heals from start to end, with the real runbook and plan function, and the sandbox's EC2 and Systems Manager."""

import json
from typing import Any

import pytest

from config_rule_sandbox.ssm.knobs import Trouble
from express_path.adapters import heal_requests
from express_path.adapters.heal_requests import CONTRACT
from tests.support.heals import FUNCTION, HEAL, Deployment, Vpc, run_id_of, status, step, steps
from tests.support.ledgers import LedgerTable
from tests.support.network import Builder

pytestmark = pytest.mark.slow


@pytest.fixture
def calendar(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of the stack's change calendar."""
    monkeypatch.setenv("CHANGE_CALENDAR_NAME", "changes")
    return "changes"


# --- what a heal does ------------------------------------------------------------------------------------------------


def test_heal_creates_the_endpoint_and_associates_the_table(
    deployment: Deployment, vpc: Vpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A heal creates one tagged endpoint with the stack's policy, and associates only the subnet's route table.

    Its outputs have the plan, the endpoint, the verdict, and how to undo it. A second run makes no change.
    """
    text = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3express:*"}]}'
    deployment.ssm.put_parameter(Name="/express/policy", Value=text, Type="String")
    monkeypatch.setenv("ENDPOINT_POLICY_PARAMETER", "/express/policy")
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Success", run.get("FailureMessage")
    [endpoint] = deployment.endpoints(vpc.id)
    assert deployment.associations(vpc.id) == {endpoint["VpcEndpointId"]: [vpc.table]}
    assert endpoint["Tags"] == [{"Key": "express-path:managed", "Value": "true"}]
    assert (endpoint["VpcEndpointType"], endpoint["PolicyDocument"]) == ("Gateway", text)
    outputs = {key: value for key, [value] in run["Outputs"].items()}
    assert (json.loads(outputs["plan.Details"])["action"], outputs["plan.RouteTableId"]) == (
        "CREATE_AND_ASSOCIATE",
        vpc.table,
    )
    assert outputs["create.VpcEndpointId"] == outputs["recordIntent.VpcEndpointId"] == endpoint["VpcEndpointId"]
    assert outputs["verify.Annotation"].startswith("ENDPOINT")
    assert f"RemoveS3ExpressGatewayEndpoint with RunId={run_id_of(run)}" in outputs["verify.Undo"]
    assert json.loads(outputs["verify.Details"])["undoRunId"] == run_id_of(run)
    deployment.sandbox.calls.clear()
    again = deployment.heal(vpc.subnet)
    assert (status(again), deployment.changes(), steps(again)[-1]) == ("Success", [], "done")


def test_traffic_moves_only_when_the_endpoint_is_available(deployment: Deployment, vpc: Vpc) -> None:
    """The endpoint is created without route tables and associated once it is available, so no traffic is lost."""
    deployment.sandbox.ec2.knobs.pending_describes = 3
    assert status(deployment.heal(vpc.subnet)) == "Success"
    [created] = deployment.sandbox.calls.of("ec2", "CreateVpcEndpoint")
    assert "RouteTableIds" not in created.parameters
    operations = deployment.sandbox.calls.operations("ec2")
    between = operations[operations.index("CreateVpcEndpoint") : operations.index("ModifyVpcEndpoint")]
    assert between.count("DescribeVpcEndpoints") > 3


def test_blocked_heal_changes_nothing(deployment: Deployment, builder: Builder, vpc: Vpc, calendar: str) -> None:
    """The failure message has each blocker with its fix, and the patch. A dry run succeeds, and its outputs say both.

    Programs read the same as data.
    """
    deployment.automation.knobs.closed_calendars.add(calendar)
    endpoint = builder.endpoint(vpc.id)
    builder.tag(endpoint, "aws:cloudformation:stack-name", "network")
    deployment.sandbox.calls.clear()
    run, dry = deployment.heal(vpc.subnet), deployment.heal(vpc.subnet, DryRun="true")
    assert (status(run), status(dry), deployment.changes()) == ("Failed", "Success", [])
    for text in ("OWNED_BY_IAC", "AdoptIacOwned", "CHANGE_CALENDAR_CLOSED"):
        assert text in run["FailureMessage"]
        assert text in dry["Outputs"]["plan.Summary"][0]
    assert "Stack network: change" in run["FailureMessage"]
    assert dry["Outputs"]["plan.Patch"][0].startswith("# Stack network: change\n# RouteTableIds")
    plan = json.loads(dry["Outputs"]["plan.Details"][0])
    [failure] = json.loads(run["Outputs"]["explain.Payload"][0])["failures"]
    assert (plan["action"], failure["step"], failure["code"]) == ("BLOCKED", "makePlan", "BLOCKED")
    for blockers in (plan["blockers"], failure["blockers"]):
        codes = [(blocker["code"], blocker["resource"]) for blocker in blockers]
        assert codes == [("OWNED_BY_IAC", endpoint), ("CHANGE_CALENDAR_CLOSED", "ChangeCalendarName")]


# --- what somebody else does meanwhile -------------------------------------------------------------------------------


def test_endpoint_that_a_tool_took_over_is_not_used_by_the_next_heal(deployment: Deployment, builder: Builder) -> None:
    """The undo of that heal would be blocked at once, so the heal is, and prints the patch for the tool."""
    vpc = Vpc(builder, tables=2)
    assert status(deployment.heal(vpc.subnets[0])) == "Success"
    [endpoint] = deployment.associations(vpc.id)
    builder.tag(endpoint, "managed-by", "terraform")
    run = deployment.heal(vpc.subnets[1])
    assert (status(run), "OWNED_BY_IAC" in run["FailureMessage"]) == ("Failed", True)
    assert "aws_vpc_endpoint_route_table_association" in run["FailureMessage"]
    assert deployment.associations(vpc.id) == {endpoint: [vpc.tables[0]]}


@pytest.mark.parametrize("adoption", ["tag", "policy", "replaced tags"])
def test_endpoint_of_an_interrupted_heal_that_a_tool_took_over_is_not_used(
    deployment: Deployment, builder: Builder, vpc: Vpc, adoption: str
) -> None:
    """The heal that created it never read it back, so it is compared with how heals create endpoints."""
    deployment.sandbox.faults.deny("ec2", "ModifyVpcEndpoint")
    assert status(deployment.heal(vpc.subnet)) == "Failed"
    deployment.sandbox.faults.clear()
    [endpoint] = deployment.associations(vpc.id)
    if adoption == "policy":
        statement = {"Effect": "Allow", "Principal": "*", "Action": "s3express:*", "Resource": "*"}
        builder.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, PolicyDocument=json.dumps({"Statement": [statement]}))
    else:
        builder.tag(endpoint, "Name", "s3")
    if adoption == "replaced tags":
        builder.ec2.delete_tags(Resources=[endpoint], Tags=[{"Key": "express-path:managed"}])
    run = deployment.heal(vpc.subnet)
    assert (status(run), "OWNED_BY_IAC" in run["FailureMessage"]) == ("Failed", True)
    assert deployment.associations(vpc.id) == {endpoint: []}


def test_older_endpoint_that_a_tool_took_over_is_not_used(
    deployment: Deployment, builder: Builder, ledger: LedgerTable
) -> None:
    """Another endpoint was created since, with a new client token, while an undo was about to delete the older one."""
    vpc = Vpc(builder, tables=3)
    first = deployment.heal(vpc.subnets[0])
    [older] = deployment.associations(vpc.id)
    ledger.write(f"VPC#{vpc.id}", deletedIds={older})
    second = deployment.heal(vpc.subnets[1])
    ledger.write(f"VPC#{vpc.id}", deletedIds=None)
    assert (status(first), status(second)) == ("Success", "Success"), second.get("FailureMessage")
    [newer] = deployment.associations(vpc.id).keys() - {older}
    builder.tag(older, "Name", "s3")
    builder.ec2.delete_vpc_endpoints(VpcEndpointIds=[newer])
    run = deployment.heal(vpc.subnets[2])
    assert (status(run), "OWNED_BY_IAC" in run["FailureMessage"]) == ("Failed", True)


def test_endpoint_that_somebody_creates_after_the_plan_meets_the_pre_flight(
    deployment: Deployment, builder: Builder, vpc: Vpc
) -> None:
    """Its policy is checked before the route table is associated with it."""
    condition = {"NotIpAddress": {"aws:SourceIp": "203.0.113.0/24"}}
    deny = {"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*", "Condition": condition}
    document = json.dumps({"Statement": [deny]})
    deployment.after("confirm", lambda: builder.endpoint(vpc.id, PolicyDocument=document))
    run = deployment.heal(vpc.subnet)
    assert (status(run), "associate" in steps(run)) == ("Failed", False)
    assert "step findTarget failed: BLOCKED" in run["FailureMessage"]


def test_endpoint_that_the_heal_makes_meets_the_pre_flight_too(deployment: Deployment, vpc: Vpc) -> None:
    """A bucket's policy that came after the plan is judged right before the route table is associated."""
    name, s3 = "data--use1-az4--x-s3", deployment.sandbox.client("s3")
    s3.create_bucket(Bucket=name)
    condition = {"NotIpAddress": {"aws:SourceIp": "203.0.113.0/24"}}
    deny = {"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*", "Condition": condition}
    policy = json.dumps({"Statement": [deny]})
    deployment.after("elected", lambda: s3.put_bucket_policy(Bucket=name, Policy=policy))
    run = deployment.heal(vpc.subnet)
    assert (status(run), "create" in steps(run), "associate" in steps(run)) == ("Failed", True, False)
    assert f"POLICY_WOULD_DENY: statement '1' of the policy of {name} would deny" in run["FailureMessage"]


def test_calendar_that_closes_during_a_heal_stops_it(deployment: Deployment, vpc: Vpc, calendar: str) -> None:
    """The calendar is read again before each change, and the failed run releases its claim."""
    knobs = deployment.automation.knobs
    knobs.open_calendars.add(calendar)
    deployment.sandbox.faults.before("ec2", "CreateVpcEndpoint", knobs.open_calendars.clear)
    deployment.sandbox.faults.before("ec2", "CreateVpcEndpoint", lambda: knobs.closed_calendars.add(calendar))
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()[-1]) == ("Failed", "CreateVpcEndpoint")
    assert "CHANGE_CALENDAR_CLOSED" in run["FailureMessage"]
    assert deployment.ledger.item(f"TABLE#{vpc.table}")["state"] == "FAILED"


def test_heal_that_does_not_fix_the_path_fails(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """If a conflicting route appears during the run, the verify step fails and reports the remaining verdict."""
    [express] = [
        prefix_list["Cidrs"][0]
        for prefix_list in deployment.ec2.describe_prefix_lists()["PrefixLists"]
        if prefix_list["PrefixListName"].endswith(".s3express")
    ]
    deployment.sandbox.faults.before(
        "ec2", "ModifyVpcEndpoint", lambda: builder.route(vpc.table, express, NatGatewayId=vpc.nat)
    )
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Failed"
    assert "NOT_CURED" in step(run, "verifyPath")["FailureMessage"]
    assert "PARTLY_NAT" in run["FailureMessage"]


def test_route_that_already_exists_leads_to_verify(deployment: Deployment, builder: Builder, vpc: Vpc) -> None:
    """If another tool associates its endpoint just before the change, RouteAlreadyExists is not a failure.

    The undo of this run then deletes only the endpoint that it created.
    """
    deployment.sandbox.faults.before("ec2", "ModifyVpcEndpoint", lambda: builder.endpoint(vpc.id, vpc.table))
    run = deployment.heal(vpc.subnet)
    assert (status(run), step(run, "associate")["StepStatus"]) == ("Success", "Failed")
    assert "RouteAlreadyExists" in step(run, "associate")["FailureMessage"]
    [theirs] = [key for key, tables in deployment.associations(vpc.id).items() if tables]
    assert status(deployment.undo(run_id_of(run))) == "Success"
    assert deployment.associations(vpc.id) == {theirs: [vpc.table]}


def test_heal_fails_if_an_undo_is_about_to_delete_its_endpoint(
    deployment: Deployment, builder: Builder, ledger: LedgerTable
) -> None:
    """The heal read the endpoint before the undo marked it, and associated it afterwards. The next heal creates another."""
    vpc = Vpc(builder, tables=2)
    deployment.heal(vpc.subnets[0])
    [endpoint] = deployment.associations(vpc.id)
    deployment.sandbox.faults.before(
        "ec2", "ModifyVpcEndpoint", lambda: ledger.write(f"VPC#{vpc.id}", deletedIds={endpoint})
    )
    late = deployment.heal(vpc.subnets[1])
    assert status(late) == "Failed"
    assert f"an undo is about to delete {endpoint}; start the heal again" in late["FailureMessage"]
    deployment.ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint])
    again = deployment.heal(vpc.subnets[1])
    assert status(again) == "Success", again.get("FailureMessage")
    assert [tables for key, tables in deployment.associations(vpc.id).items() if key != endpoint] == [[vpc.tables[1]]]


@pytest.mark.parametrize("killed", [False, True], ids=["one run", "finished by another run"])
def test_reverted_heal_is_not_repeated_for_a_day_or_until_an_undo(
    deployment: Deployment, vpc: Vpc, *, killed: bool
) -> None:
    """After somebody removes the association, a heal is blocked. The blocker's fix works: undo, and heal by hand."""
    if killed:
        with deployment.automation.killing(during="associate"):
            deployment.heal(vpc.subnet)
    healed = deployment.heal(vpc.subnet)
    assert status(healed) == "Success"
    [endpoint] = deployment.associations(vpc.id)
    deployment.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, RemoveRouteTableIds=[vpc.table])
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert "REVERTED_BY_OTHERS" in run["FailureMessage"]
    if not killed:
        assert status(deployment.undo(run_id_of(healed))) == "Success"
        assert status(deployment.heal(vpc.subnet)) == "Success"


def test_config_does_not_heal_what_was_undone_until_a_person_does(deployment: Deployment, vpc: Vpc) -> None:
    """The state UNDONE blocks AWS Config's heals, even after a manual heal that failed."""
    deployment.undo(run_id_of(deployment.heal(vpc.subnet)))
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet, StartedBy="CONFIG")
    assert (status(run), deployment.changes()) == ("Failed", [])
    assert "UNDONE" in run["FailureMessage"]
    deployment.sandbox.faults.deny("ec2", "CreateVpcEndpoint", times=1)
    assert status(deployment.heal(vpc.subnet)) == "Failed"
    assert status(deployment.heal(vpc.subnet, StartedBy="CONFIG")) == "Failed"
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert status(deployment.heal(vpc.subnet, StartedBy="CONFIG")) == "Success"


def test_failed_heal_names_the_error_of_aws_and_releases_its_claim(deployment: Deployment, vpc: Vpc) -> None:
    """The verification fails too, but the message also has the cause. The next run succeeds without waiting."""
    deployment.sandbox.faults.fail("ec2", "ModifyVpcEndpoint", "RouteLimitExceeded", 400, times=1)
    run = deployment.heal(vpc.subnet)
    assert (status(run), steps(run)[-1]) == ("Failed", "fail")
    for text in (
        f"step verifyPath failed: {vpc.subnet} is not healed: ",
        "step associate failed: ",
        "RouteLimitExceeded",
        "L-93826ACB",
    ):
        assert text in run["FailureMessage"]
    assert deployment.ledger.item(f"TABLE#{vpc.table}")["state"] == "FAILED"
    assert status(deployment.heal(vpc.subnet)) == "Success"


# --- updates of the stack --------------------------------------------------------------------------------------------


def test_run_that_is_going_during_an_update_fails(
    deployment: Deployment, vpc: Vpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run keeps the version with which it started: its next look fails, and nothing is changed."""
    deployment.after("plan", lambda: monkeypatch.setattr(heal_requests, "CONTRACT", "next"))
    deployment.sandbox.calls.clear()
    run = deployment.heal(vpc.subnet)
    assert status(run) == "Failed"
    for text in (f"the run's runbook has version '{CONTRACT}'", "version 'next'", "start the run again"):
        assert text in run["FailureMessage"], run["FailureMessage"]
    assert deployment.changes() == []


# --- what an undo may take away: only what the run confirmed ----------------------------------------------------------


def check_blocked(deployment: Deployment, vpc: Vpc, run_id: str, event: str = "ModifyVpcEndpoint") -> None:
    """Undo a run: nothing changes, and the message names the CloudTrail event, the resources, and the run."""
    before = deployment.described(vpc.id)
    undone = deployment.undo(run_id)
    assert (status(undone), deployment.described(vpc.id)) == ("Failed", before)
    resource = vpc.table if event == "ModifyVpcEndpoint" else vpc.id
    for text in (f"BLOCKED: run {run_id} cannot be undone", "CloudTrail", event, resource, f"contains {run_id}"):
        assert text in undone["FailureMessage"], text


@pytest.mark.parametrize("when", ["after the run", "during the call"])
def test_association_that_a_person_made_stays(deployment: Deployment, builder: Builder, vpc: Vpc, when: str) -> None:
    """A team has an endpoint, the heal's call is denied, and a person associates the route table.

    If the person is fast enough, the path is COMPLIANT and the run succeeds. A later run records that the route table
    is healed, and still not that the first one made the change.
    """
    endpoint = builder.endpoint(vpc.id)

    def associate() -> None:
        builder.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, AddRouteTableIds=[vpc.table])

    if when == "during the call":
        deployment.sandbox.faults.before("ec2", "ModifyVpcEndpoint", associate)
    deployment.sandbox.faults.deny("ec2", "ModifyVpcEndpoint", times=1)
    run = deployment.heal(vpc.subnet)
    assert status(run) == ("Failed" if when == "after the run" else "Success")
    check_blocked(deployment, vpc, run_id_of(run))
    if when == "after the run":
        associate()
    assert status(deployment.heal(vpc.subnet)) == "Success"
    assert deployment.ledger.item(f"TABLE#{vpc.table}")["state"] == "HEALED"
    check_blocked(deployment, vpc, run_id_of(run))
    assert deployment.associations(vpc.id) == {endpoint: [vpc.table]}
    assert deployment.endpoints(vpc.id)[0]["Tags"] == []


def test_association_that_somebody_made_first_is_not_the_runs_own(
    deployment: Deployment, builder: Builder, vpc: Vpc
) -> None:
    """A late answer does not show a person's association right before the call, which EC2 would accept once more."""
    endpoint, late = builder.endpoint(vpc.id), []

    def plan(event: dict[str, Any]) -> dict[str, Any]:
        if event["action"] != "target":
            return deployment.plan(event)
        with deployment.sandbox.stale_reads("ec2:DescribeRouteTables") as observation:
            deployment.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, AddRouteTableIds=[vpc.table])
            answer = deployment.plan(event)
        late.extend(observation.given)
        return answer

    deployment.automation.functions.register(FUNCTION, plan)
    run = deployment.heal(vpc.subnet)
    assert (status(run), len(late), "associate" in steps(run)) == ("Success", 1, False)


def test_creation_without_an_answer_is_never_confirmed(deployment: Deployment, vpc: Vpc) -> None:
    """The undo changes nothing and names CreateVpcEndpoint; the next run finds its endpoint by its client token."""
    with deployment.automation.disturbing(HEAL, "create", Trouble.NO_ANSWER):
        run = deployment.heal(vpc.subnet)
    assert status(run) == "Failed"
    check_blocked(deployment, vpc, run_id_of(run), "CreateVpcEndpoint")
    [endpoint] = deployment.associations(vpc.id)
    healed = deployment.heal(vpc.subnet)
    assert deployment.associations(vpc.id) == {endpoint: [vpc.table]}
    assert status(deployment.undo(run_id_of(healed))) == "Success"
    assert deployment.endpoints(vpc.id) == []
