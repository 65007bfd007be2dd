"""The runbooks as they are written: every action, property, reference and step is one that Systems Manager knows.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-authoring-runbooks.html
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from botocore.session import get_session
from botocore.validate import ParamValidator

from express_path.handlers.plan_heal import parse_request

Runbook = dict[str, Any]
Step = dict[str, Any]

FILES = sorted((Path(__file__).parents[2] / "runbooks").glob("*.yaml"))
ELEMENTS = {"schemaVersion", "description", "assumeRole", "parameters", "outputs", "mainSteps"}
# https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html
STEP_PROPERTIES = {
    "name",
    "description",
    "action",
    "inputs",
    "outputs",
    "maxAttempts",
    "timeoutSeconds",
    "onFailure",
    "onCancel",
    "isCritical",
    "isEnd",
    "nextStep",
}
# The inputs of each action in use, those that it must have first; the pages are below the one named above.
INPUTS: dict[str, tuple[set[str], set[str]]] = {
    "aws:approve": ({"Approvers"}, {"NotificationArn", "Message", "MinRequiredApprovals"}),
    "aws:branch": ({"Choices"}, {"Default"}),
    "aws:executeScript": ({"Runtime", "Handler", "Script", "InputPayload"}, set()),
    "aws:executeAutomation": ({"DocumentName"}, {"DocumentVersion", "RuntimeParameters"}),
    "aws:invokeLambdaFunction": ({"FunctionName"}, {"InputPayload", "Qualifier", "LogType", "InvocationType"}),
    "aws:sleep": ({"Duration"}, set()),
}
CALLS = {"aws:executeAwsApi": set(), "aws:waitForAwsResourceProperty": {"PropertySelector", "DesiredValues"}}
# What an output of each type in use selects of an API's answer.
TYPES = {"String": "string", "MapList": "list"}
CHOICE = {"NextStep", "Variable", "StringEquals"}
# What a step gives without outputs of its own.
IMPLICIT = {
    "aws:executeAutomation": {"ExecutionId", "Status", "Output"},
    "aws:invokeLambdaFunction": {"Payload"},
}
# https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-variables.html
AUTOMATION = {"automation:EXECUTION_ID"}
REFERENCE = re.compile(r"\{\{\s*([\w.:-]+)\s*\}\}")
LARGEST = 64 * 1024
"""https://docs.aws.amazon.com/general/latest/gr/ssm.html, size of a document."""
LONGEST_PATTERN = 1024


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    """Return each runbook's file."""
    found: Path = request.param
    return found


@pytest.fixture
def runbook(path: Path) -> Runbook:
    """Return each runbook."""
    parsed: Runbook = yaml.safe_load(path.read_text(encoding="utf-8"))
    return parsed


def strings(node: object) -> Iterator[str]:
    """Yield every string in a part of a runbook."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for child in node.values():
            yield from strings(child)
    elif isinstance(node, list):
        for child in node:
            yield from strings(child)


def references(node: object) -> set[str]:
    """Return what a part of a runbook refers to in double braces."""
    return {name for text in strings(node) for name in REFERENCE.findall(text)}


def outputs(step: Step) -> set[str]:
    """Return the names that later steps may refer to, such as plan.Action."""
    own = {output["Name"] for output in step.get("outputs", [])} | IMPLICIT.get(step["action"], set())
    return {f"{step['name']}.{name}" for name in own}


def successors(steps: list[Step], index: int) -> set[str]:
    """Return the steps that may run after one, whether it succeeds or fails."""
    step = steps[index]
    inputs = step["inputs"]
    chosen = {choice["NextStep"] for choice in inputs.get("Choices", [])} | set(filter(None, [inputs.get("Default")]))
    named = {step[key].removeprefix("step:") for key in ("nextStep", "onFailure") if key in step} - {
        "Abort",
        "Continue",
    }
    falls_through = not step.get("isEnd") and "nextStep" not in step and "Default" not in inputs
    return chosen | named | ({steps[index + 1]["name"]} if falls_through and index + 1 < len(steps) else set())


def calls(runbook: Runbook, *actions: str) -> list[Step]:
    """Return the steps of some actions."""
    return [step for step in runbook["mainSteps"] if step["action"] in actions]


def test_there_are_three_runbooks() -> None:
    """One heals, one asks before it heals, one undoes."""
    assert [path.stem for path in FILES] == [
        "AddS3ExpressGatewayEndpoint",
        "AddS3ExpressGatewayEndpointWithApproval",
        "RemoveS3ExpressGatewayEndpoint",
    ]


def test_file_is_plain_yaml_of_schema_3(path: Path, runbook: Runbook) -> None:
    """A runbook has the elements of schema 0.3, acts under a role, and holds nothing of CloudFormation."""
    assert runbook["schemaVersion"] == "0.3"
    assert runbook.keys() == ELEMENTS
    assert runbook["assumeRole"] == "{{ AutomationAssumeRole }}"
    assert not re.search(r"(^|\s)!\w|Fn::|AWS::", path.read_text(encoding="utf-8"))


def test_document_is_smaller_than_the_limit(path: Path, runbook: Runbook) -> None:
    """Text and JSON alike are far below 64 KB, in which the parameters of an execution count too."""
    assert len(path.read_bytes()) < LARGEST / 2
    assert len(json.dumps(runbook)) < LARGEST / 2


def test_parameters_are_described_and_constrained(runbook: Runbook) -> None:
    """Each parameter says what it is, and takes only values or a pattern that it names, or a number of items."""
    for name, parameter in runbook["parameters"].items():
        assert parameter["type"] in {"String", "StringList"}, name
        assert parameter["description"].endswith("."), name
        constraint = "maxItems" if parameter["type"] == "StringList" else "allowedPattern"
        assert {constraint, "allowedValues"} & parameter.keys(), name


def test_patterns_are_of_the_dialect_of_systems_manager(runbook: Runbook) -> None:
    """Patterns are anchored, compile, keep to the length that SSM allows, and use no lookaround, which RE2 lacks."""
    for name, parameter in runbook["parameters"].items():
        if pattern := parameter.get("allowedPattern"):
            re.compile(pattern)
            assert pattern.startswith("^"), name
            assert pattern.endswith("$"), name
            assert len(pattern) <= LONGEST_PATTERN, name
            assert not re.search(r"\(\?<?[=!]|\\[1-9]", pattern), name


def test_defaults_are_allowed(runbook: Runbook) -> None:
    """A default passes the parameter's own pattern or values."""
    for name, parameter in runbook["parameters"].items():
        if "default" in parameter:
            default = parameter["default"]
            assert re.search(parameter.get("allowedPattern", ""), default) is not None, name
            assert default in parameter.get("allowedValues", [default]), name


def test_every_parameter_is_used(runbook: Runbook) -> None:
    """No parameter is asked for in vain."""
    assert references([runbook["assumeRole"], runbook["mainSteps"]]) >= runbook["parameters"].keys()


def test_steps_have_known_properties_and_unique_names(runbook: Runbook) -> None:
    """Every step is described, has a name of its own, and only properties that Automation has."""
    steps = runbook["mainSteps"]
    assert len({step["name"] for step in steps}) == len(steps)
    for step in steps:
        assert step.keys() <= STEP_PROPERTIES, step["name"]
        assert step.keys() >= {"name", "description", "action", "inputs"}, step["name"]
        assert re.fullmatch(r"[a-zA-Z0-9_]{3,128}", step["name"])


def test_inputs_are_those_of_the_actions(runbook: Runbook) -> None:
    """Every action is one of those in use, with all inputs that it needs and none that it does not have."""
    for step in runbook["mainSteps"]:
        given = step["inputs"].keys()
        if step["action"] in CALLS:
            assert given >= {"Service", "Api"} | CALLS[step["action"]], step["name"]
        else:
            needed, possible = INPUTS[step["action"]]
            assert needed <= given <= needed | possible, step["name"]
        for choice in step["inputs"].get("Choices", []):
            assert choice.keys() == CHOICE, step["name"]


def typed(node: Any, types: dict[str, str]) -> Any:  # noqa: ANN401 -- a part of a runbook
    """Return a part of a runbook with a Boolean in place of each reference to an output of that type."""
    if isinstance(node, dict):
        return {key: typed(value, types) for key, value in node.items()}
    if isinstance(node, list):
        return [typed(item, types) for item in node]
    match = REFERENCE.fullmatch(node) if isinstance(node, str) else None
    return True if match and types.get(match[1]) == "Boolean" else node


def test_calls_are_those_that_botocore_would_make(runbook: Runbook) -> None:
    """Service, operation and parameters of each API call are those of AWS's own model of the API."""
    types = {
        f"{step['name']}.{output['Name']}": output["Type"]
        for step in runbook["mainSteps"]
        for output in step.get("outputs", [])
    }
    for step in calls(runbook, *CALLS):
        inputs = {name: value for name, value in step["inputs"].items() if name not in CALLS[step["action"]]}
        inputs = typed(inputs, types)
        model = get_session().get_service_model(inputs.pop("Service")).operation_model(inputs.pop("Api"))
        assert model.input_shape is not None
        report = ParamValidator().validate(inputs, model.input_shape)
        assert not report.has_errors(), f"{step['name']}: {report.generate_report()}"


def test_selectors_find_what_the_api_answers(runbook: Runbook) -> None:
    """Each selector of a call's answer leads, member by member, to something in AWS's model of that answer."""
    for step in calls(runbook, *CALLS):
        service = get_session().get_service_model(step["inputs"]["Service"])
        selectors = [(output["Selector"], output["Type"]) for output in step.get("outputs", [])]
        waited = step["inputs"].get("PropertySelector")
        selectors += [(waited, "String")] if waited else []
        for selector, type_name in selectors:
            shape: Any = service.operation_model(step["inputs"]["Api"]).output_shape
            for part in selector.removeprefix("$.").split("."):
                name, _, index = part.partition("[")
                shape = shape.members[name].member if index else shape.members[name]
            assert shape.type_name == TYPES[type_name], selector


SAMPLE = {
    "subnetId": "subnet-1",
    "routeTableId": "rtb-1",
    "runId": "run-1",
    "undoRunId": "run-1",
    "startedBy": "CONFIG",
    "dryRun": "true",
}


def test_plan_function_understands_the_payloads(runbook: Runbook) -> None:
    """The function's own reader takes each payload, with samples in place of references."""
    steps = calls(runbook, "aws:invokeLambdaFunction")
    assert steps
    for step in steps:
        payload = step["inputs"]["InputPayload"]
        event = {key: SAMPLE.get(key, "") if REFERENCE.search(value) else value for key, value in payload.items()}
        assert parse_request(event).action == payload["action"]


def test_answers_are_read_in_a_documented_way(runbook: Runbook) -> None:
    """Of an invocation, only the output Payload is documented, and not whether it is text: a script reads both."""
    steps = runbook["mainSteps"]
    for step in calls(runbook, "aws:invokeLambdaFunction"):
        assert "outputs" not in step, step["name"]
    for index, step in enumerate(steps):
        if step["inputs"].get("Handler") == "read":
            assert step["inputs"]["InputPayload"] == {"answer": f"{{{{ {steps[index - 1]['name']}.Payload }}}}"}
            namespace: dict[str, Any] = {}
            exec(step["inputs"]["Script"], namespace)
            for answer in ({"next": "DONE"}, '{"next": "DONE"}', json.dumps('{"next": "DONE"}')):
                assert namespace[step["inputs"]["Handler"]]({"answer": answer}, {}) == {"next": "DONE"}


def test_references_resolve_to_what_is_there_by_then(runbook: Runbook) -> None:
    """A reference is a parameter, a variable of Automation, or an output of a step that is written above."""
    known = runbook["parameters"].keys() | AUTOMATION
    assert references(runbook["assumeRole"]) <= known
    for step in runbook["mainSteps"]:
        assert references(step["inputs"]) <= known, step["name"]
        known |= outputs(step)
    assert set(runbook["outputs"]) <= known


def test_no_braces_are_left_that_are_no_reference(runbook: Runbook) -> None:
    """A misspelt reference would be handed on as text: every pair of braces is one that is understood."""
    for text in strings(runbook["mainSteps"]):
        assert not re.search(r"\{\{|\}\}", REFERENCE.sub("", text)), text


def test_every_step_is_reached_and_every_next_step_is_there(runbook: Runbook) -> None:
    """From the first step all others can be reached, none leads nowhere, and the last one ends the run."""
    steps = runbook["mainSteps"]
    names = [step["name"] for step in steps]
    reached: set[str] = set()
    waiting = {names[0]}
    while waiting:
        assert waiting <= set(names)
        reached |= waiting
        waiting = {successor for name in waiting for successor in successors(steps, names.index(name))} - reached
    assert reached == set(names)
    assert steps[-1]["isEnd"]


def test_waits_are_bounded(runbook: Runbook) -> None:
    """Whatever waits for something has a time-out of its own."""
    waiting = calls(runbook, "aws:approve", "aws:executeAutomation", "aws:waitForAwsResourceProperty")
    waiting += calls(runbook, "aws:invokeLambdaFunction")
    assert waiting
    assert all("timeoutSeconds" in step for step in waiting)
