"""No program reads a sentence: with others in place of all of ours, commands decide, count, and name the same."""

import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from moto.moto_api._internal import mock_random

from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.server import Sandbox
from express_path import errors
from express_path.domain.heal import ledger_records, records, texts, undo_plan
from express_path.domain.remedy import texts as remedy_texts
from express_path.domain.verdict import annotations, evaluator
from express_path_cli.automation import runs
from express_path_cli.findings import change, summary
from tests.cli.heal.healing_stack import deployed
from tests.support.command import invoke, without_credentials
from tests.support.heals import Deployment, Vpc, configure_remediation
from tests.support.network import Builder
from tests.support.plans import endpoint, nat_route, network

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

ODD = (
    " | ",
    " stays: ",
    "\n",
    "\n--- cli\n",
    "; fix: ",
    '{"errorMessage": "x"}',
    "11111111-2222-3333-4444-555555555555",
)
"""What separates the parts of lines, and what programs might look for."""
FOR_PEOPLE = frozenset(
    {
        "advice",
        "annotation",
        "evidence",
        "fix",
        "message",
        "note",
        "patches",
        "plan",
        "remedy",
        "summary",
        "text",
        "why",
    }
)
"""The fields of documents that have sentences."""
ID = re.compile(r"\b(vpce|vpce-svc|rtb|subnet|eni)-[0-9a-f]{8,17}\b|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
COMMAND = re.compile(r"express-path (?:heal|undo)(?: (?:rtb|subnet|vpc)-[0-9a-f]+| [0-9a-f-]{36})+")
"""A printed command that names what to heal, or the runs to undo."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)?")


class OtherSentences:
    """Puts other texts in place of what each maker of sentences makes."""

    def __init__(self, patches: pytest.MonkeyPatch) -> None:
        """Replace every maker."""
        self._random = random.Random(0)
        self._patches = patches
        for function in (
            *(texts.one_line, texts.plan_text, texts.concern_text, texts.judged_text, texts.how_to_undo),
            *(texts.undo_fact_text, texts.failure_text, annotations.annotate, remedy_texts.association_text),
            *(remedy_texts.how_to_find_out, summary.summary),
        ):
            self._replace(function, self._text)
        for function in (summary.closing, summary.advice, change._sentences):  # noqa: SLF001
            self._replace(function, lambda *_, **__: [self._text(), self._text()])
        decide = evaluator.decision_by
        self._replace(decide, lambda *args, **given: self._with_note(decide(*args, **given)))
        self._patch(records.Concern, "evidence", "fix")
        self._patch(undo_plan.UndoFact, "evidence")
        self._patch(errors.StepError, "evidence", "fix")
        patches.setattr(ledger_records.Stop, "__str__", lambda _: self._text())
        patches.setattr(remedy_texts.Names, "fill", lambda *_: self._text())

    def _text(self, *_: object, **__: object) -> str:
        return "".join(self._random.choices(ODD, k=4)) + f"text {self._random.random()}"

    def _with_note(self, decision: evaluator.Decision) -> evaluator.Decision:
        return decision._replace(note=self._text() if decision.note else "")

    def _replace(self, function: Callable[..., Any], other: Callable[..., Any]) -> None:
        """Replace a function in every module that uses it."""
        for module in list(sys.modules.values()):
            if module.__name__.startswith("express_path"):
                for name in [name for name, value in vars(module).items() if value is function]:
                    self._patches.setattr(module, name, other)

    def _patch(self, made: type, *fields: str) -> None:
        """Let each instance of a class have other texts in some of its fields."""
        initialize = made.__init__  # type: ignore[misc]

        def with_other_texts(instance: object, *args: object, **given: object) -> None:
            initialize(instance, *args, **given)
            for field in fields:
                if getattr(instance, field):
                    object.__setattr__(instance, field, self._text())

        self._patches.setattr(made, "__init__", with_other_texts)


def for_programs(value: Any) -> Any:
    """Return a JSON value without what is for people."""
    if isinstance(value, dict):
        return {name: for_programs(inner) for name, inner in value.items() if name not in FOR_PEOPLE}
    return [for_programs(inner) for inner in value] if isinstance(value, list) else value


def run(*words: str) -> tuple[int, Any]:
    """Run a command, and return its exit status, and its document without what is for people, or the commands to copy."""
    result = invoke(words)
    assert result.exit_code in (0, 1, 2), result.output
    if "json" in words and result.stdout.startswith("{"):
        return result.exit_code, for_programs(json.loads(result.stdout))
    return result.exit_code, COMMAND.findall(result.output)


def executions(deployment: Deployment) -> Iterator[Any]:
    """Yield how each run ended, and what it answered to programs."""
    for row in deployment.ssm.describe_automation_executions()["AutomationExecutionMetadataList"]:
        found = deployment.ssm.get_automation_execution(AutomationExecutionId=row["AutomationExecutionId"])
        outputs = found["AutomationExecution"].get("Outputs", {})
        answers = {
            name: json.loads(text)
            for name, [text] in outputs.items()
            if name.endswith((".Details", ".Payload")) and text.startswith("{")
        }
        yield row["DocumentName"], row["AutomationExecutionStatus"], for_programs(answers)


def story(deployment: Deployment, builder: Builder, folder: Path) -> list[Any]:
    """Scan, plan, heal with a blocker and a failure, undo, stop, and start; return all that programs see of it."""
    vpc = Vpc(builder, tables=3)
    blocked, failing, _ = vpc.tables
    builder.route(blocked, "192.0.2.1/32", NatGatewayId=vpc.nat)
    there = ("--region", "us-east-1")
    found: list[Any] = [run("scan", "--format", "json", *there)]
    found.append(run("heal", vpc.id, "--dry-run"))
    deployment.sandbox.faults.deny("ec2", "ModifyVpcEndpoint", AddRouteTableIds=[failing])
    found.append(run("heal", *vpc.tables, "--yes", "--keep-going"))
    found.append(deployment.associations(vpc.id))
    found.append(run("scan", "--format", "json", *there))
    found.append(run("heals", "--format", "json", *there))
    found.append(run("undo", "--since", "2026-01-01", "--dry-run", "--format", "json", *there))
    [endpoint_id] = deployment.associations(vpc.id)
    builder.tag(endpoint_id, "aws:cloudformation:stack-name", "network")
    found.append(run("undo", "--since", "2026-01-01", "--yes", "--format", "json", *there))
    deployment.ec2.delete_tags(Resources=[endpoint_id], Tags=[{"Key": "aws:cloudformation:stack-name"}])
    deployment.sandbox.faults.deny("ec2", "DescribeNetworkInterfaces", times=1)
    found.append(run("scan", "--format", "json", *there))
    found.append(run("stop", "--format", "json", *there))
    found.append(run("heal", blocked, "--yes"))
    found.append(run("start", "--yes", "--format", "json", *there))
    found.append(run("undo", "--since", "2026-01-01", "--yes", "--format", "json", *there))
    found.append([deployment.associations(vpc.id), [item.get("state") for item in deployment.ledger.items("TABLE#")]])
    found.append(sorted(executions(deployment), key=lambda run: ID.sub("", json.dumps(run))))
    with without_credentials():
        for name, plan in (("nat", nat_route(network())), ("unknown", endpoint(nat_route(network())))):
            file = plan.write(folder, f"{name}.json")
            found.append(run("scan", "--plan", str(file), "--format", "json"))
            found.append(run("scan", "--plan", str(file), "--example", "--format", "json"))
        found += [run("scan", "--example", "--format", form) for form in ("csv", "sarif", "junit", "markdown")]
    return found


def numbered(found: list[Any]) -> str:
    """Return what was found as text, with a number for each ID and none of the times."""
    numbers: dict[str, int] = {}
    text = json.dumps(found, indent=1, default=str)
    return TIME.sub("TIME", ID.sub(lambda match: f"id-{numbers.setdefault(match[0], len(numbers))}", text))


def test_no_program_reads_a_sentence(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Exit statuses, documents, networks, the ledger, and the answers of runs are the same, whatever the sentences say."""
    monkeypatch.setattr(runs, "PARALLEL_RUNS", 1)
    seen = []
    for name, is_patched in (("ours", False), ("others", True)):
        sandbox.reset()
        mock_random.seed(0)  # the IDs that moto makes decide the order of rows and of heals
        with (
            monkeypatch.context() as patches,
            deployed(sandbox, patches) as deployment,
            Remediation(sandbox, deployment.automation),
        ):
            configure_remediation(sandbox.client("config"), deployment.given)
            (tmp_path / name).mkdir()
            if is_patched:
                OtherSentences(patches)
            seen.append(numbered(story(deployment, Builder(sandbox), tmp_path / name)))
    assert seen[0].count("MORE_SPECIFIC_ROUTE") > 1
    assert seen[1] == seen[0]
