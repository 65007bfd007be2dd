"""What AWS may do to a run: it refuses a stack, answers late or in another way, and keeps what is to be deleted."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.stub import Stubber

from acceptance.cleanup import clean
from acceptance.facts import OUTPUT
from acceptance.interruptions import is_interruption
from acceptance.needs import problems
from acceptance.probes.probe import probe
from acceptance.run import Run, attempt
from acceptance.stack import NotMadeError, deploy, network
from acceptance.state import state_of

pytestmark = pytest.mark.slow
PROBES = Path(__file__).parents[1] / "probes" / "test_without_stack.py"
RUN = "survivor"


@pytest.fixture
def run(local_aws: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Return a run that has made nothing, and leave nothing of it."""
    del local_aws  # the environment leads there
    monkeypatch.setenv("RUN", RUN)
    yield Run()
    clean(Run())
    state_of(RUN).remove()
    state_of.cache_clear()


def test_probes_answer_although_one_stack_is_refused(run: Run) -> None:
    """The probe whose stack cannot be made is skipped, and says why. All others answer."""
    bus = f"{run.stack_name}-bus"
    run.client("events").create_event_bus(Name=bus)
    command = [sys.executable, "-m", "pytest", "-pno:randomly", "-oaddopts=", "--import-mode=importlib", "-ra"]
    ended = subprocess.run([*command, str(PROBES)], env=os.environ, capture_output=True, text=True, check=False)
    run.client("events").delete_event_bus(Name=bus)
    assert ended.returncode == 0, ended.stdout[-3000:]
    assert "10 passed, 1 skipped" in ended.stdout
    assert "event-bus-policy: no answer: NotMadeError: express-path-acceptance-survivor-bus" in ended.stdout
    facts = json.loads((OUTPUT / "runs" / f"{RUN}.json").read_text())["facts"]
    assert [name for name, fact in facts.items() if str(fact["answer"]).startswith("no answer")] == ["event-bus-policy"]
    assert len(facts) == 23


def test_whatever_is_left_of_a_stack_is_replaced(run: Run) -> None:
    """A stack that an interruption left in progress is awaited, one that was rolled back goes, and a failure has its cause.

    The sandbox's stacks are complete at once, so CloudFormation's answers are written here.
    """

    def status(value: str) -> None:
        row = {"StackName": "a", "CreationTime": datetime.now(UTC), "StackStatus": value}
        stubber.add_response("describe_stacks", {"Stacks": [row]}, {"StackName": "a"})

    def event(resource: str, reason: str) -> dict[str, object]:
        known = {"StackId": "a", "EventId": resource, "StackName": "a", "Timestamp": datetime.now(UTC)}
        return known | {
            "LogicalResourceId": resource,
            "ResourceStatus": "CREATE_FAILED",
            "ResourceStatusReason": reason,
        }

    with Stubber(run.client("cloudformation")) as stubber:
        status("CREATE_IN_PROGRESS")
        status("ROLLBACK_COMPLETE")
        stubber.add_response("delete_stack", {}, {"StackName": "a"})
        stubber.add_client_error("describe_stacks", "ValidationError", "Stack with id a does not exist")
        stubber.add_response("create_stack", {})
        status("ROLLBACK_IN_PROGRESS")
        status("ROLLBACK_COMPLETE")
        events = [event("B", "Resource creation cancelled"), event("Nat", "no address is left")]
        stubber.add_response("describe_stack_events", {"StackEvents": events})
        with pytest.raises(NotMadeError, match=r"^a is ROLLBACK_COMPLETE: Nat: no address is left$"):
            deploy(run, "a", {"TemplateBody": "{}"}, {})
        status("UPDATE_ROLLBACK_COMPLETE")
        stubber.add_client_error("update_stack", "ValidationError", "No updates are to be performed.")
        stubber.add_response("list_stack_resources", {"StackResourceSummaries": []})
        status("UPDATE_ROLLBACK_COMPLETE")
        assert deploy(run, "a", {"TemplateBody": "{}"}, {}) == {}
        stubber.assert_no_pending_responses()


def test_everything_is_stopped_turned_off_and_deleted(run: Run) -> None:
    """Runs of the product's documents, Block Public Access, and a protected table are found without the run's file."""
    vpc = network(run)["Vpc"]
    run.close(vpc, is_closed=True)
    document = f"AddS3ExpressGatewayEndpointWithApproval-{run.rule_name}"
    asking = {"name": "ask", "action": "aws:approve", "inputs": {"Approvers": [run.caller]}}
    content = json.dumps({"schemaVersion": "0.3", "mainSteps": [asking]})
    ssm, dynamodb = run.client("ssm"), run.client("dynamodb")
    ssm.create_document(Name=document, DocumentType="Automation", Content=content)
    waiting = run.start(document)
    run.execution(waiting, "Waiting")
    key = {"AttributeName": "id", "KeyType": "HASH"}
    dynamodb.create_table(
        TableName=f"{run.stack_name}-LedgerTable-1",
        KeySchema=[key],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        DeletionProtectionEnabled=True,
    )
    clean(run)
    assert run.execution(waiting, "Cancelled")
    assert run.block_public_access() == "off"
    assert dynamodb.list_tables()["TableNames"] == []
    assert run.ask("ec2", "describe_vpcs", "Vpcs[].VpcId", VpcIds=[]).count(vpc) == 0


def test_what_others_closed_stays_closed(run: Run) -> None:
    """A run turns off only what it turned on itself, which a tag of its VPC shows."""
    network(run)
    run.client("ec2").modify_vpc_block_public_access_options(InternetGatewayBlockMode="block-ingress")
    clean(run)
    assert run.block_public_access() == "block-ingress"
    run.client("ec2").modify_vpc_block_public_access_options(InternetGatewayBlockMode="off")


GROUP = {
    "allSupported": False,
    "exclusionByResourceTypes": {"resourceTypes": ["AWS::EC2::PrefixList"]},
    "recordingStrategy": {"useOnly": "EXCLUSION_BY_RESOURCE_TYPES"},
}
DAILY = {"resourceTypes": ["AWS::EC2::Subnet"], "recordingFrequency": "DAILY"}
MODE = {"recordingFrequency": "CONTINUOUS", "recordingModeOverrides": [DAILY]}


def test_recorder_is_checked_first(run: Run) -> None:
    """It has to record, and continuously, all types whose changes the story waits for."""
    assert problems(run) == []
    config = run.client("config")
    [recorder] = config.describe_configuration_recorders()["ConfigurationRecorders"]
    name, arn = recorder["name"], recorder.pop("arn")
    assert arn
    config.put_configuration_recorder(ConfigurationRecorder=recorder | {"recordingGroup": GROUP, "recordingMode": MODE})
    config.stop_configuration_recorder(ConfigurationRecorderName=name)
    found = problems(run)
    config.put_configuration_recorder(ConfigurationRecorder=recorder)
    config.start_configuration_recorder(ConfigurationRecorderName=name)
    assert found == [
        f"recorder {name} is stopped: changes do not invoke the rule. Let AWS Config record in us-east-1 first.",
        f"recorder {name} does not record AWS::EC2::PrefixList. Add it in the settings of AWS Config.",
        f"recorder {name} records AWS::EC2::Subnet once a day. Let it record this type continuously.",
    ]


def test_quotas_and_others_are_checked_first(run: Run) -> None:
    """There has to be room for what the run makes, and nobody who is disturbed by a setting of the whole account."""
    ec2 = run.client("ec2")
    vpcs = [ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"] for _ in range(3)]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(VpcId=vpcs[0], InternetGatewayId=gateway)
    ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="block-ingress")
    found = problems(run)
    ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="off")
    ec2.detach_internet_gateway(VpcId=vpcs[0], InternetGatewayId=gateway)
    ec2.delete_internet_gateway(InternetGatewayId=gateway)
    for vpc in vpcs:
        ec2.delete_vpc(VpcId=vpc)
    assert [line.split(". ")[0] for line in found] == [
        "us-east-1 has 4 of 5 VPCs, and the run needs 2",
        f"Block Public Access would cut off the VPCs of {gateway}",
        "Block Public Access is block-ingress, and the run would turn it off",
    ]


def refused(code: str) -> ClientError:
    """Return an error of AWS with a code."""
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "Operation")


@pytest.fixture
def hasty(run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Return the run, which waits no longer than a second."""
    del run  # what is left of it is deleted
    with monkeypatch.context() as patch:
        patch.setenv("LIMIT", "1")
        yield Run()


def test_whatever_a_probe_meets_is_an_outcome(hasty: Run) -> None:
    """A call that is denied, an answer of another form, and something that never comes: each is a fact, not a failure.

    LIMIT sets how long it waits. A look that may be in vain returns what it saw last.
    """

    def late() -> None:
        hasty.until("a verdict", lambda: None)

    def denied() -> None:
        raise refused("AccessDenied")

    def different() -> None:
        raise KeyError("StepExecutions")

    for meet, outcome in (
        (late, "TimeoutError: after 1 seconds, still not: a verdict. LIMIT="),
        (denied, "AccessDenied"),
        (different, "KeyError: 'StepExecutions'"),
    ):

        @probe("ec2", "first", "second")
        def ask(run: Run, meet: Callable[[], None] = meet) -> None:
            run.add("first", "ec2", "Asked", "answered")
            meet()

        with pytest.raises(pytest.skip.Exception, match="second: no answer"):
            ask(hasty)
        assert hasty.state.facts["first"]["answer"] == "answered"
        assert outcome in hasty.state.facts["second"]["answer"]
        assert hasty.state.facts["second"]["as_believed"] is None
    looks = iter(range(100))
    assert hasty.look_for(lambda: next(looks) > 1)
    assert hasty.look_for(lambda: "") == ""


TESTS = """
import pytest
from botocore.exceptions import ClientError

def test_before(): pass
def test_skipped(): pytest.skip("not made")
def test_failing(): raise AssertionError
def test_expired(): raise ClientError({"Error": {"Code": "ExpiredToken"}}, "Operation")
def test_after(): pass
"""
CONTINUE = """
import sys
from pathlib import Path
import pytest
from acceptance.interruptions import Continuing
from acceptance.state import State

sys.exit(pytest.main(["-oaddopts=", "-pno:randomly", "-pno:cacheprovider", sys.argv[1]], plugins=[Continuing(State(Path(sys.argv[2])))]))
"""


def test_credentials_that_expire_interrupt_a_run(tmp_path: Path) -> None:
    """Nothing after them is a result. What has ended before is not repeated, also what failed."""
    file, state = tmp_path / "test_some.py", tmp_path / "state.json"
    file.write_text(TESTS)
    command = [sys.executable, "-c", CONTINUE, str(file), str(state)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert ended.returncode == pytest.ExitCode.INTERRUPTED, ended.stdout
    known = json.loads(state.read_text())
    assert [name.rpartition("::")[2] for name in known["done"]] == ["test_before", "test_skipped", "test_failing"]
    assert known["failed"] == known["done"][2:]


def test_what_is_an_interruption() -> None:
    """Expired credentials and a network that is gone say nothing about AWS. A denied call does."""
    gone = EndpointConnectionError(endpoint_url="https://ec2.us-east-1.amazonaws.com")
    for interruption in (refused("ExpiredTokenException"), gone, KeyboardInterrupt()):
        assert is_interruption(interruption), interruption
    for answer in (refused("AccessDenied"), TimeoutError(), AssertionError()):
        assert not is_interruption(answer), answer


def test_interruption_is_no_answer_and_ends_the_clean_up(run: Run) -> None:
    """A probe does not take the code of expired credentials for AWS's answer, and nothing is tried with them for long."""

    def call() -> None:
        raise refused("ExpiredToken")

    with pytest.raises(ClientError, match="ExpiredToken"):
        attempt(call)
    row = {"StackName": f"{run.stack_name}-hub", "CreationTime": datetime.now(UTC), "StackStatus": "CREATE_COMPLETE"}
    with Stubber(run.client("cloudformation")) as stubber:
        stubber.add_response("describe_stacks", {"Stacks": [row]})
        stubber.add_client_error("delete_stack", "ExpiredToken")
        with pytest.raises(ClientError, match="ExpiredToken"):
            clean(run)
