"""The runbooks' function: what it refuses before any call, and what it logs."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from config_rule_sandbox.server import Sandbox
from express_path.adapters.heal_requests import CONTRACT
from express_path.adapters.step_failures import RaisedError
from express_path.handlers import plan_heal
from express_path.healing import rereading
from tests.support.ledgers import LEDGER, LedgerTable
from tests.support.network import Builder, Private
from tests.support.rule import Context

PLAN = {"contract": CONTRACT, "action": "plan"}


def test_wrong_request_is_refused_before_any_call(sandbox: Sandbox) -> None:
    """The error is data that names the invalid field, and AWS is not called."""
    sandbox.calls.clear()
    with pytest.raises(RaisedError, match=r'"code": "RECORD".*subnetId'):
        plan_heal.handler(PLAN, Context())
    assert list(sandbox.calls) == []


@pytest.mark.parametrize("version", [None, "0"])
@pytest.mark.parametrize("action", ["plan", "planApproval", "planUndo"])
def test_request_of_another_version_is_refused(action: str, version: str | None) -> None:
    """Only the last step of a failed run, which explains the failure, is answered in every version."""
    event = {"action": action, "subnetId": "subnet-1", "runId": "run-2", "undoRunId": "run-1", "contract": version}
    with pytest.raises(RaisedError, match='"code": "CONTRACT"'):
        plan_heal.handler(event, Context())
    failed = plan_heal.parse_request({"action": "explainFailure", "runId": "run-2", "contract": version})
    assert failed.run_id == "run-2"


def test_plan_is_logged_with_the_codes_of_its_blockers(
    sandbox: Sandbox,
    builder: Builder,
    monkeypatch: pytest.MonkeyPatch,
    logged: Callable[[], list[dict[str, Any]]],
) -> None:
    """Queries find the outcome of each plan, also if the step fails."""
    monkeypatch.setattr(rereading, "SECONDS_APART", 0)
    monkeypatch.setenv("LEDGER_TABLE_NAME", LEDGER)
    LedgerTable(sandbox)
    vpc = Private(builder)
    services = plan_heal.compose_services(os.environ, sandbox.account_id)
    event = {**PLAN, "subnetId": vpc.subnet, "runId": "run-2"}
    plan_heal.handler(event, Context(), services)
    builder.tag(builder.endpoint(vpc.vpc), "aws:cloudformation:stack-name", "network")
    with pytest.raises(RaisedError, match='"code": "BLOCKED"'):
        plan_heal.handler(event, Context(), services)
    lines = [line for line in logged() if line["message"] == "planned"]
    assert [(line["status"], line["blockers"]) for line in lines] == [
        ("CREATE_AND_ASSOCIATE", []),
        ("BLOCKED", ["OWNED_BY_IAC"]),
    ]
    assert {(line["subnetId"], line["routeTableId"]) for line in lines} == {(vpc.subnet, vpc.table)}
