"""What AWS may do to a run: it refuses a stack, answers late or in another way, and keeps what is to be deleted."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from acceptance.cleanup import clean
from acceptance.facts import OUTPUT
from acceptance.interruptions import is_interruption
from acceptance.needs import problems
from acceptance.probes.probe import probe
from acceptance.run import Run
from acceptance.stack import network
from acceptance.state import state_of

pytestmark = pytest.mark.slow
PROBES = Path(__file__).parents[1] / "probes" / "test_without_stack.py"
RUN = "survivor"


@pytest.fixture
def run(local_aws: pytest.MonkeyPatch) -> Iterator[Run]:
    """Return a run that has made nothing, in a sandbox that runs."""
    local_aws.setenv("RUN", RUN)
    yield Run()
    state_of(RUN).remove()
    state_of.cache_clear()


def test_probes_answer_although_one_stack_is_refused(run: Run) -> None:
    """The probe whose stack cannot be made is skipped, and says why. All others answer."""
    run.client("events").create_event_bus(Name=f"{run.stack_name}-bus")
    command = [sys.executable, "-m", "pytest", "-pno:randomly", "-oaddopts=", "--import-mode=importlib", "-ra"]
    ended = subprocess.run([*command, str(PROBES)], env=os.environ, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-3000:]
    assert "10 passed, 1 skipped" in ended.stdout
    assert "event-bus-policy: no answer: NotMadeError: express-path-acceptance-survivor-bus" in ended.stdout
    facts = json.loads((OUTPUT / "runs" / f"{RUN}.json").read_text())["facts"]
    assert [name for name, fact in facts.items() if str(fact["answer"]).startswith("no answer")] == ["event-bus-policy"]
    assert len(facts) == 20


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


def test_needs_are_checked_first(run: Run) -> None:
    """Types that are not recorded or only daily, quotas without room, and what a setting of the account would disturb."""
    assert problems(run) == []
    ec2, config = run.client("ec2"), run.client("config")
    [recorder] = config.describe_configuration_recorders()["ConfigurationRecorders"]
    recorder["recordingGroup"] = {
        "allSupported": False,
        "exclusionByResourceTypes": {"resourceTypes": ["AWS::EC2::PrefixList"]},
        "recordingStrategy": {"useOnly": "EXCLUSION_BY_RESOURCE_TYPES"},
    }
    daily = {"resourceTypes": ["AWS::EC2::Subnet"], "recordingFrequency": "DAILY"}
    recorder["recordingMode"] = {"recordingFrequency": "CONTINUOUS", "recordingModeOverrides": [daily]}
    recorder.pop("arn")
    config.put_configuration_recorder(ConfigurationRecorder=recorder)
    vpcs = [ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"] for _ in range(3)]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(VpcId=vpcs[0], InternetGatewayId=gateway)
    ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="block-ingress")
    found = problems(run)
    name = recorder["name"]
    assert found[:2] == [
        f"recorder {name} does not record AWS::EC2::PrefixList. Add it in the settings of AWS Config.",
        f"recorder {name} records AWS::EC2::Subnet once a day. Let it record this type continuously.",
    ]
    assert "has 4 of 5 VPCs, and the run needs 2" in found[2]
    assert [gateway in found[3], "block-ingress" in found[4], len(found)] == [True, True, 5]
    config.stop_configuration_recorder(ConfigurationRecorderName=name)
    assert "is stopped" in problems(run)[0]


def refused(code: str) -> ClientError:
    """Return an error of AWS with a code."""
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "Operation")


@pytest.fixture
def hasty(run: Run, local_aws: pytest.MonkeyPatch) -> Run:
    """Return the run, which waits no longer than a second."""
    del run  # its file is removed
    local_aws.setenv("LIMIT", "1")
    return Run()


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
    """Nothing after them is a result, and what has ended before is not repeated, unless it failed."""
    file, state = tmp_path / "test_some.py", tmp_path / "state.json"
    file.write_text(TESTS)
    command = [sys.executable, "-c", CONTINUE, str(file), str(state)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert ended.returncode == pytest.ExitCode.INTERRUPTED, ended.stdout
    done = [name.rpartition("::")[2] for name in json.loads(state.read_text())["done"]]
    assert done == ["test_before", "test_skipped"]


def test_what_is_an_interruption() -> None:
    """Expired credentials and a network that is gone say nothing about AWS. A denied call does."""
    gone = EndpointConnectionError(endpoint_url="https://ec2.us-east-1.amazonaws.com")
    for interruption in (refused("ExpiredTokenException"), gone, KeyboardInterrupt()):
        assert is_interruption(interruption), interruption
    for answer in (refused("AccessDenied"), TimeoutError(), AssertionError()):
        assert not is_interruption(answer), answer
