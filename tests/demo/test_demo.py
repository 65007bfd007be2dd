"""The demonstration: what it prints, and that it fails when a verdict, a plan, or a run is not as expected."""

import io
import re
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from demo.__main__ import main
from demo.by_hand import fix_by_hand
from demo.deployment import Deployed, deploy
from demo.function import BuildError, Functions, build, in_this_process
from demo.healing import Healing
from demo.output import Narrator
from demo.runbooks import HEAL, Runbooks
from demo.situations import Situation, familiar, owned_by_a_stack, remove_default_vpc, without_endpoint
from demo.stage import Stage
from demo.steps import StepLine, step_lines
from express_path.healing import rereading

pytestmark = pytest.mark.slow

ESCAPE = "\x1b"
START = datetime(2026, 1, 1, tzinfo=UTC)
Event = dict[str, Any]
Plan = Callable[[Event], Any]


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the functions of this process read again at once."""
    monkeypatch.setattr(rereading, "SECONDS_APART", 0)


@pytest.fixture
def situation(sandbox: Sandbox) -> Situation:
    """The familiar VPC."""
    return familiar(sandbox)


def printed(action: Callable[[Narrator], object], *, width: int = 80, terminal: bool = False) -> str:
    """Return what a narrator prints."""
    file = io.StringIO()
    action(Narrator(Console(file=file, width=width, force_terminal=terminal, color_system=None)))
    return file.getvalue()


def assert_shows_the_turn(output: str) -> None:
    """Check the demonstration's output, in its order; only lines to be copied may be long."""
    order = [
        "1. A local AWS",
        "private-a   NON_COMPLIANT      NAT gateway        0.0.0.0/0 -> nat-a",
        "3 of 5 subnets reach S3 Express through a NAT",
        "$ aws ec2 modify-vpc-endpoint \\\n         --vpc-endpoint-id vpce-",
        "private-a   COMPLIANT           gateway endpoint   pl-",
        "was NON_COMPLIANT",
        "No subnet reaches S3 Express through a NAT.",
        "data-private      NON_COMPLIANT",
        "AddS3ExpressGatewayEndpoint SubnetId=subnet-",
        "DryRun=true",
        "-> CREATE_AND_ASSOCIATE",
        "It would create a gateway endpoint for com.amazonaws.us-east-1.s3express",
        "* create               ec2 CreateVpcEndpoint -> vpce-",
        "* associate            ec2 ModifyVpcEndpoint, adds rtb-",
        "verifyPath           lambda PlanFunction -> COMPLIANT, ENDPOINT",
        "data-private   COMPLIANT           gateway endpoint   pl-",
        "ENDPOINT            new",
        "RemoveS3ExpressGatewayEndpoint RunId=",
        "* disassociate         ec2 ModifyVpcEndpoint, removes rtb-",
        "* deleteEndpoint       ec2 DeleteVpcEndpoints",
        "data-private   NON_COMPLIANT",
        "was COMPLIANT",
        "exactly as before the heal",
        "makePlan             Failed",
        "OWNED_BY_IAC: vpce-",
        "The patch for CloudFormation",
        "# Stack network-reports",
        "Done in ",
    ]
    place = 0
    for text in order:
        assert text in output[place:], text
        place = output.index(text, place)
    assert ESCAPE not in output
    long = [line for line in output.splitlines() if len(line) > 80]
    assert [line for line in long if not re.match(" +(?:resource|#) ", line)] == []


def test_in_process(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the Lambda runtime it prints plain lines of at most 80 columns, and succeeds."""
    monkeypatch.setattr("demo.__main__.Sandbox", lambda: nullcontext(sandbox))
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--in-process"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert_shows_the_turn(printed.out)


@pytest.mark.long
@pytest.mark.runtime
@pytest.mark.skipif(sys.platform != "linux", reason="the Runtime Interface Emulator is a program for Linux")
def test_in_the_lambda_runtime(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the artifact in the real Lambda runtime, `python -m demo` prints the same."""
    monkeypatch.setattr("config_rule_sandbox.server.Sandbox", lambda: nullcontext(sandbox))
    monkeypatch.setattr(sys, "argv", ["demo"])
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.delitem(sys.modules, "demo.__main__")
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("demo", run_name="__main__")
    printed = capsys.readouterr()
    assert (ended.value.code, printed.err) == (0, "")
    assert_shows_the_turn(printed.out)


@pytest.mark.skipif(sys.platform != "linux", reason="the Runtime Interface Emulator is a program for Linux")
def test_without_the_emulator(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the runtime is missing, the demo says so and ends with status 2."""
    monkeypatch.setattr("demo.__main__.Sandbox", lambda: nullcontext(sandbox))
    monkeypatch.setenv("AWS_LAMBDA_RIE", str(tmp_path / "nowhere"))
    assert main([]) == 2
    assert "no Runtime Interface Emulator" in capsys.readouterr().out


def test_wrong_verdict_fails(sandbox: Sandbox, situation: Situation) -> None:
    """If a rule reports every subnet as compliant, the demonstration names each wrong subnet."""
    config = sandbox.client("config")

    def praise_everything(event: dict[str, Any]) -> dict[str, Any]:
        """Report every subnet as COMPLIANT, whatever the event says."""
        evaluations = [
            {
                "ComplianceResourceType": "AWS::EC2::Subnet",
                "ComplianceResourceId": subnet_id,
                "ComplianceType": "COMPLIANT",
                "OrderingTimestamp": 1,
            }
            for subnet_id in situation.subnets.values()
        ]
        config.put_evaluations(Evaluations=evaluations, ResultToken=event["resultToken"])
        common = {"reason": "ENDPOINT", "path": [], "routeTableId": situation["rtb-main"]}
        return {"evaluations": [{"subnetId": subnet_id, **common} for subnet_id in situation.subnets.values()]}

    stages: list[Stage] = []

    def run(narrator: Narrator) -> None:
        stages.append(Stage(narrator, sandbox, praise_everything, deploy(sandbox)))
        fix_by_hand(stages[0], situation)

    output = printed(run)
    assert not stages[0].fine
    assert "private-a must be NON_COMPLIANT NAT_GATEWAY" in output
    assert "isolated must be NOT_APPLICABLE NO_ROUTE" in output


def test_failing_function_fails(sandbox: Sandbox, situation: Situation) -> None:
    """If the function fails, its error is shown, and no verdict is printed."""

    def fail(_event: dict[str, Any]) -> None:
        raise ValueError("out of order")

    def run(narrator: Narrator) -> None:
        with pytest.raises(LookupError, match="no verdict on public-a, private-a"):
            fix_by_hand(Stage(narrator, sandbox, fail, deploy(sandbox)), situation)

    assert "an invocation failed: out of order" in printed(run)


def test_build_that_fails(tmp_path: Path) -> None:
    """A build's own words are in the error."""
    (tmp_path / "in the way").write_text("")
    with pytest.raises(BuildError, match="not empty") as raised:
        build(tmp_path)
    assert str(tmp_path) in raised.value.output


@pytest.fixture
def deployed(sandbox: Sandbox) -> Deployed:
    """The stack."""
    return deploy(sandbox)


@pytest.fixture
def functions(sandbox: Sandbox, deployed: Deployed) -> Iterator[Functions]:
    """Both functions in this process."""
    with in_this_process(sandbox, deployed) as found:
        yield found


@pytest.fixture
def heal(sandbox: Sandbox, functions: Functions, deployed: Deployed) -> Callable[[Plan | None], tuple[bool, str]]:
    """Runs the second half with a plan function, by default the real one; gives whether it was fine, and its output."""

    def run(plan: Plan | None = None) -> tuple[bool, str]:
        remove_default_vpc(sandbox)
        file = io.StringIO()
        with Automation(sandbox) as automation:
            automation.knobs.time_scale = 0.001
            stage = Stage(Narrator(Console(file=file, width=80)), sandbox, functions.evaluate, deployed)
            runbooks = Runbooks(sandbox, automation, plan or functions.plan, deployed)
            Healing(stage, runbooks, without_endpoint(sandbox), owned_by_a_stack(sandbox)).run()
        return stage.fine, file.getvalue()

    return run


def step(name: str, action: str, second: int, **more: object) -> dict[str, Any]:
    """Return a StepExecution that succeeded, unless `more` says otherwise."""
    started = START + timedelta(seconds=second)
    common = {"StepName": name, "Action": action, "ExecutionStartTime": started, "StepStatus": "Success"}
    return {**common, "Inputs": {}, "Outputs": {}, **more}


@pytest.mark.long
def test_plan_that_is_wrong_fails(heal: Callable[..., tuple[bool, str]], functions: Functions) -> None:
    """If a plan function never finds anything to do, the plan, the verdict and the blocked heal are wrong."""

    def idle(event: Event) -> Any:
        if "subnetId" not in event:
            return {}
        answer, nothing = functions.plan({**event, "dryRun": "true"}), {"action": "NOTHING_TO_DO"}
        return {**answer, **nothing, "details": {**answer["details"], **nothing}}

    fine, output = heal(idle)
    assert not fine
    assert "the plan must be CREATE_AND_ASSOCIATE" in output
    assert "data-private must be COMPLIANT ENDPOINT" in output
    assert "AddS3ExpressGatewayEndpoint must end with Failed, not Success" in output
    assert "there must be a patch for the owner" in output


@pytest.mark.long
def test_function_that_fails_fails(heal: Callable[..., tuple[bool, str]]) -> None:
    """If the plan function fails, Systems Manager's words are shown, with its error."""

    def fail(_event: Event) -> None:
        raise ValueError("out of order")

    fine, output = heal(fail)
    assert not fine
    assert "must end with Success, not Failed: Step fails" in output
    assert '"errorMessage": "out of order"' in output


@pytest.mark.long
def test_function_that_changes_something_fails(
    heal: Callable[..., tuple[bool, str]], sandbox: Sandbox, functions: Functions
) -> None:
    """If a plan function writes, the demonstration fails: neither a dry run nor a blocked heal may change anything."""

    def meddle(event: Event) -> Any:
        sandbox.client("ec2").create_tags(Resources=[event.get("subnetId", "vpc-1")], Tags=[{"Key": "a", "Value": "b"}])
        return functions.plan(event)

    fine, output = heal(meddle)
    assert not fine
    assert "a dry run must not change anything" in output
    assert "a blocked heal must not change anything" in output


def test_lines_wait_for_the_next_step() -> None:
    """During a run, the last step and a running step have no line yet: the target of a branch is not known."""
    branch, running = step("decide", "aws:branch", 1), step("rest", "aws:sleep", 2, StepStatus="InProgress")
    assert step_lines([branch], is_over=False) == []
    assert step_lines([branch, running], is_over=False) == [StepLine("decide", "-> rest", changes=False)]


def test_run_that_takes_too_long(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, functions: Functions, deployed: Deployed
) -> None:
    """A runbook that does not end is given up, by its name."""
    monkeypatch.setattr("demo.runbooks.LONGEST_SECONDS", 0.0)
    with Automation(sandbox) as automation, pytest.raises(TimeoutError, match=HEAL):
        Runbooks(sandbox, automation, functions.plan, deployed).follow(HEAL, print, SubnetId="subnet-00000000")
