"""The demonstration: what it prints, and that it fails when a verdict is not as expected."""

import io
import re
import runpy
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from demo.__main__ import main
from demo.by_hand import AFTER, BEFORE, fix_by_hand
from demo.function import BuildError, build
from demo.output import Narrator
from demo.situations import Situation, familiar
from demo.stage import Stage
from demo.verdicts import Row, rows
from express_path.domain.path.reasons import Compliance, Reason
from sandbox.config_loop import ConfigLoop
from sandbox.server import Sandbox

pytestmark = pytest.mark.slow

ESCAPE = "\x1b"
ROW = Row(
    "private-a",
    "subnet-00000000000000001",
    "NON_COMPLIANT",
    "NAT_GATEWAY",
    "NAT gateway\nnat-a",
    "0.0.0.0/0\nin table t",
)


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
        "verifyPath           lambda express-path-plan -> COMPLIANT, ENDPOINT",
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
        "The patch for Terraform",
        'resource "aws_vpc_endpoint_route_table_association"',
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


@pytest.mark.runtime
@pytest.mark.skipif(sys.platform != "linux", reason="the Runtime Interface Emulator is a program for Linux")
def test_in_the_lambda_runtime(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the artifact in the real Lambda runtime, `python -m demo` prints the same."""
    monkeypatch.setattr("sandbox.server.Sandbox", lambda: nullcontext(sandbox))
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


def test_expects_real_reasons() -> None:
    """The expected verdicts are spelled like the rule's."""
    for compliance, reason in [*BEFORE.values(), *AFTER.values()]:
        assert Compliance(compliance)
        assert Reason(reason)


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
        stages.append(Stage(narrator, sandbox, praise_everything))
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
            fix_by_hand(Stage(narrator, sandbox, fail), situation)

    assert "an invocation failed: out of order" in printed(run)


def test_rows_name_things(sandbox: Sandbox, situation: Situation) -> None:
    """A row has the names of the situation, and Config's compliance rather than the function's."""
    hop = {"kind": "NAT_GATEWAY", "id": situation["nat-a"], "destination": "0.0.0.0/0"}
    unnamed = {"kind": "GATEWAY_ENDPOINT", "id": "vpce-1", "destination": "pl-1"}

    def answer(event: dict[str, Any]) -> dict[str, Any]:
        """Return one verdict for each subnet without reporting it."""
        common = {"reason": "NAT_GATEWAY", "routeTableId": situation["rtb-private"]}
        paths = {subnet_id: [unnamed if name == "isolated" else hop] for name, subnet_id in situation.subnets.items()}
        assert event["version"] == "1.0"
        return {"evaluations": [{"subnetId": subnet_id, "path": path, **common} for subnet_id, path in paths.items()]}

    loop = ConfigLoop(sandbox, answer)
    token = loop.results.issue_token(loop.rule.name)
    evaluations = [
        {
            "ComplianceResourceType": "AWS::EC2::Subnet",
            "ComplianceResourceId": subnet_id,
            "ComplianceType": "NON_COMPLIANT",
            "OrderingTimestamp": 1,
        }
        for subnet_id in situation.subnets.values()
    ]
    sandbox.client("config").put_evaluations(Evaluations=evaluations, ResultToken=token)
    loop.scheduled()
    first, *_, last = rows(loop, situation)
    assert (first.subnet, first.compliance, first.reason) == ("public-a", "NON_COMPLIANT", "NAT_GATEWAY")
    assert (first.path, first.route) == ("NAT gateway\nnat-a", "0.0.0.0/0 -> nat-a\nin table private")
    assert (last.path, last.route) == ("gateway endpoint\nvpce-1", "pl-1 -> vpce-1\nin table private")


def test_table_has_ids_where_there_is_room() -> None:
    """Names are enough on 80 columns; on 120 ids are under them."""
    assert ROW.subnet_id not in printed(lambda narrator: narrator.table([ROW]), width=80)
    assert ROW.subnet_id in printed(lambda narrator: narrator.table([ROW]), width=120)


def test_table_marks_changed_verdicts() -> None:
    """If a verdict changed, the output says so; otherwise, it says nothing."""
    cured = Row(ROW.subnet, ROW.subnet_id, "COMPLIANT", "ENDPOINT", ROW.path, ROW.route)
    assert "was NON_COMPLIANT" in printed(lambda narrator: narrator.table([cured], [ROW]))
    assert "was " not in printed(lambda narrator: narrator.table([ROW], [ROW]))


def test_items_stand_in_columns() -> None:
    """A long text continues under its beginning, within the width; a star marks what stands out."""
    long = "one two three four five six seven eight nine ten eleven"
    lines = printed(lambda narrator: narrator.item("name", long, marked=True), width=60).splitlines()
    assert lines[0].startswith("   * name                 one two")
    assert len(lines) == 2
    assert lines[1].startswith(" " * 26 + "eight")
    assert printed(lambda narrator: narrator.item("name", "text")) == "     name                 text\n"


def test_shows_progress_on_a_terminal_only() -> None:
    """A terminal gets a spinner and a bar, a pipe gets the titles."""

    def narrate(narrator: Narrator) -> None:
        with narrator.step("Build", "building"):
            pass
        with narrator.counted_step("Deliver", 2) as advance:
            advance()
            advance()

    assert printed(narrate) == "\n1. Build\n\n2. Deliver\n"
    assert re.search(r"2/2", printed(narrate, terminal=True))


def test_build_that_fails(tmp_path: Path) -> None:
    """A build's own words are in the error."""
    (tmp_path / "in the way").write_text("")
    with pytest.raises(BuildError, match="not empty") as raised:
        build(tmp_path)
    assert str(tmp_path) in raised.value.output


def test_make_demo_shows_only_the_demo() -> None:
    """`make demo` shows neither its own commands nor those that build what it needs."""
    makefile = (Path(__file__).parents[2] / "Makefile").read_text(encoding="utf-8")
    [recipe] = re.findall(r"^demo:(?! \$).*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    commands = recipe.splitlines()
    assert all(command.startswith("\t@") for command in commands)
    assert "--silent" in commands[0]
    assert commands[0].endswith(">/dev/null")
