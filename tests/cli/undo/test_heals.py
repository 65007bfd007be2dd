"""express-path heals: past heals from the ledger, as a table and as JSON."""

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from config_rule_sandbox.pytest_plugin import emptied
from config_rule_sandbox.server import Sandbox
from express_path_cli.main import app
from tests.cli.heal.healing_stack import deployed
from tests.support import shown_output
from tests.support.command import invoke
from tests.support.ledgers import LEDGER, TIME, LedgerTable, heal_id

VPC, OTHER_VPC = "vpc-0a1b2c3d4e5f60718", "vpc-1a1b2c3d4e5f60718"
TABLE, ENDPOINT = "rtb-0a1b2c3d4e5f60718", "vpce-0a1b2c3d4e5f60718"
UNDO_RUN, LATER = heal_id(90), "2026-11-22T13:30:00+00:00"


@pytest.fixture(scope="module")
def ledger(running_sandbox: Sandbox) -> Iterator[LedgerTable]:
    """Yield a ledger with a heal in every state and a run that changed nothing. The tests only read it."""
    with (
        pytest.MonkeyPatch.context() as patches,
        emptied(running_sandbox, patches) as sandbox,
        deployed(sandbox, patches) as made,
    ):
        fill(made.ledger)
        yield made.ledger


def fill(found: LedgerTable) -> None:
    """Write a heal in every state and a run that changed nothing."""
    found.write_heal(heal_id(1), VPC, TABLE, ENDPOINT, created=True)
    undone = {"kind": "UNDO", "startedBy": "PERSON", "healRunId": heal_id(1), "deletedAt": LATER, "finishedAt": LATER}
    found.write(f"RUN#{UNDO_RUN}", **undone)
    found.write(f"RUN#{heal_id(1)}", undoRunId=UNDO_RUN)
    found.write_heal(heal_id(2), VPC, "rtb-2", ENDPOINT, created=False)
    found.write_heal(heal_id(3), VPC, "rtb-2", ENDPOINT, created=False)
    found.write(f"RUN#{heal_id(3)}", startedBy="CONFIG")
    found.write_heal(heal_id(4), OTHER_VPC, "rtb-4", "vpce-4", created=True)
    found.write(f"RUN#{heal_id(4)}", finishedAt=None)
    found.write(f"RUN#{heal_id(5)}", kind="HEAL", startedBy="PERSON", startedAt=TIME)
    found.write_heal(heal_id(6), VPC, "rtb-6", "vpce-6", created=False)
    found.write(f"RUN#{heal_id(6)}", associatedAt=None)


@pytest.mark.usefixtures("ledger")
def test_table_fits_80_columns() -> None:
    """The table has each run, the newest first, with its state and time. The commands to copy are below it."""
    result = CliRunner().invoke(app, ["heals", "--quiet"], env=shown_output.TERMINAL)
    lines = shown_output.plain(result.stdout).splitlines()
    assert max(map(len, lines)) <= 80
    start = next(place for place, line in enumerate(lines) if line.startswith(heal_id(4)))
    assert [line.split() for line in lines[start : start + 4]] == [
        [heal_id(4), "rtb-4", "UNFINISHED"],
        ["vpc-1a1b2c3d4e5f60718", "vpce-4", "2026-11-22T12:00"],
        ["subnet-0a1b2c3d4e5f60718", "new"],
        ["123456789012", "us-east-1", "a", "person"],
    ]
    assert any(line.endswith("AWS Config") for line in lines)
    undone = next(place for place, line in enumerate(lines) if line.startswith(heal_id(1)))
    assert [line.split()[-1] for line in lines[undone : undone + 4]] == [
        *("UNDONE", "2026-11-22T12:00", "2026-11-22T12:00", "2026-11-22T13:30")
    ]
    assert f"Undone by: {UNDO_RUN}" in " ".join("".join(lines).split())
    assert [line.strip() for line in lines if line in (f"  {undo(number)}" for number in range(7))] == [
        undo(number) for number in (4, 3, 6)
    ]
    assert lines[-1] == "5 heals: 1 HEALED, 1 UNFINISHED, 1 UNCONFIRMED, 1 REPLACED, 1 UNDONE"


def undo(number: int) -> str:
    """Return the command that undoes a heal."""
    return f"express-path undo {heal_id(number)} --region us-east-1"


@pytest.mark.usefixtures("ledger")
def test_json_says_the_same() -> None:
    """In JSON, steps that did not happen are null; the undo command keeps the account and Region."""
    result = invoke(["heals", "--vpc", VPC, "--region", "us-east-1", "--format", "json"])
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["schemaVersion"] == 1
    by_run = {heal["runId"]: heal for heal in document["heals"]}
    undone, latest, intended = (by_run[heal_id(number)] for number in (1, 3, 6))
    assert undone == {
        "runId": heal_id(1),
        "state": "UNDONE",
        "accountId": "123456789012",
        "accountName": None,
        "region": "us-east-1",
        "stackName": "express-path",
        "ledger": LEDGER,
        "vpcId": VPC,
        "subnetId": "subnet-0a1b2c3d4e5f60718",
        "routeTableId": TABLE,
        "endpointId": ENDPOINT,
        "createdEndpoint": True,
        "startedBy": "PERSON",
        "principal": None,
        "startedAt": TIME,
        "intendedAt": TIME,
        "associatedAt": TIME,
        "finishedAt": TIME,
        "undoneByRunId": UNDO_RUN,
        "undoneAt": LATER,
        "deletedEndpoint": True,
        "replacedByRunId": None,
        "undo": None,
    }
    assert (latest["state"], latest["startedBy"], latest["undoneAt"]) == ("HEALED", "CONFIG", None)
    assert latest["undo"] == f"express-path undo {heal_id(3)} --region us-east-1"
    assert [intended[name] for name in ("state", "intendedAt", "associatedAt", "undo")] == [
        *("UNCONFIRMED", TIME, None, None)
    ]


@pytest.mark.usefixtures("ledger")
def test_heals_of_one_vpc() -> None:
    """--vpc filters the heals; a VPC without heals is not an error."""
    assert invoke(["heals", "--vpc", OTHER_VPC]).stdout.splitlines()[-1].startswith("1 heal: 1 UNFINISHED")
    assert invoke(["heals", "--vpc", "vpc-9"]).stdout == "no heals: no run in the ledger changed anything here\n"


def test_heals_since_a_time_with_who_started_them(ledger: LedgerTable) -> None:
    """The newest heal is first. Who started it is unknown for a run that Systems Manager does not list, or may not be read."""
    ledger.write(f"RUN#{heal_id(4)}", associatedAt=LATER)
    every = json.loads(invoke(["heals", "--format", "json"]).stdout)["heals"]
    since = invoke(["heals", "--since", "2026-11-22T13:00Z", "--format", "json"])
    assert json.loads(since.stdout)["heals"] == every[:1]
    assert (every[0]["runId"], every[0]["principal"]) == (heal_id(4), None)
    ledger.write(f"RUN#{heal_id(4)}", associatedAt=TIME)
    ledger.sandbox.faults.deny("ssm", "DescribeAutomationExecutions")
    denied = invoke(["heals"])
    ledger.sandbox.faults.clear()
    assert (denied.exit_code, denied.stdout) == (0, invoke(["heals"]).stdout)
    assert "who started the heals of 1 stack is not known" in denied.stderr
    assert "allow ssm:DescribeAutomationExecutions" in denied.stderr


def test_many_heals_come_in_pages(ledger: LedgerTable) -> None:
    """All pages are read, because a scan of the ledger returns at most 1 MB."""
    notes = [f"NOTE#{number}" for number in range(3)]
    for note in notes:
        ledger.write(note, note="x" * 390_000)
    ledger.sandbox.calls.clear()
    assert invoke(["heals"]).stdout.splitlines()[-1].startswith("5 heals: ")
    assert len(ledger.sandbox.calls.of("dynamodb", "Scan")) > 1
    for note in notes:
        ledger.dynamodb.delete_item(TableName=LEDGER, Key={"id": {"S": note}})


def test_a_denied_ledger_is_one_line(ledger: LedgerTable) -> None:
    """One line names the missing permission."""
    ledger.sandbox.faults.deny("dynamodb", "Scan")
    result = invoke(["heals"])
    ledger.sandbox.faults.clear()
    assert (result.exit_code, result.stdout) == (2, "")
    assert "allow dynamodb:Scan" in result.stderr
