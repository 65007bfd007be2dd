"""The runbook files use only actions, properties, references, and steps that Systems Manager supports.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-authoring-runbooks.html
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.session import get_session
from botocore.validate import ParamValidator

from express_path.adapters.heal_steps import CONTRACT
from express_path.handlers.plan_heal import parse_request
from sandbox.ssm import script_host
from tests.support.heals import runbook as parsed_runbook

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
# The required and the optional inputs of each action that the runbooks use; each has a page below the one above.
INPUTS: dict[str, tuple[set[str], set[str]]] = {
    "aws:approve": ({"Approvers"}, {"NotificationArn", "Message", "MinRequiredApprovals"}),
    "aws:branch": ({"Choices"}, {"Default"}),
    "aws:executeScript": ({"Runtime", "Handler", "Script", "InputPayload"}, set()),
    "aws:executeAutomation": ({"DocumentName"}, {"DocumentVersion", "RuntimeParameters"}),
    "aws:invokeLambdaFunction": ({"FunctionName"}, {"InputPayload", "Qualifier", "LogType", "InvocationType"}),
    "aws:loop": ({"Steps", "LoopCondition", "MaxIterations"}, set()),
    "aws:sleep": ({"Duration"}, set()),
}
CALLS = {"aws:executeAwsApi": set(), "aws:waitForAwsResourceProperty": {"PropertySelector", "DesiredValues"}}
# The shape in an API's response that an output of each type selects.
TYPES = {"String": "string", "MapList": "list"}
CHOICE = {"NextStep", "Variable", "StringEquals"}
# The outputs that a step has without declaring them.
IMPLICIT = {
    "aws:approve": {"ApprovalStatus"},
    "aws:executeAutomation": {"ExecutionId", "Status", "Output"},
    "aws:invokeLambdaFunction": {"Payload"},
}
# https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-variables.html
AUTOMATION = {"automation:EXECUTION_ID"}
REFERENCE = re.compile(r"\{\{\s*([\w.:-]+)\s*\}\}")
LARGEST = 64 * 1024
"""https://docs.aws.amazon.com/general/latest/gr/ssm.html, maximum size of a document in bytes."""
LONGEST_PATTERN = 1024


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    """Return the file of each runbook."""
    found: Path = request.param
    return found


@pytest.fixture
def runbook(path: Path) -> Runbook:
    """Return each parsed runbook."""
    return parsed_runbook(path.stem)


def strings(node: object) -> Iterator[str]:
    """Yield every string in part of a runbook."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for child in node.values():
            yield from strings(child)
    elif isinstance(node, list):
        for child in node:
            yield from strings(child)


def flat(runbook: Runbook) -> list[Step]:
    """Return all steps of a runbook, those of a loop right before the loop."""
    return [inner for step in runbook["mainSteps"] for inner in (*step["inputs"].get("Steps", []), step)]


def references(node: object) -> set[str]:
    """Return the names that part of a runbook references in double braces."""
    return {name for text in strings(node) for name in REFERENCE.findall(text)}


def outputs(step: Step) -> set[str]:
    """Return the names that later steps may refer to, such as plan.Action."""
    own = {output["Name"] for output in step.get("outputs", [])} | IMPLICIT.get(step["action"], set())
    return {f"{step['name']}.{name}" for name in own}


def successors(steps: list[Step], index: int) -> set[str]:
    """Return the names of the steps that can run after a step, whether it succeeds or fails."""
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
    """Return the steps that use the given actions."""
    return [step for step in flat(runbook) if step["action"] in actions]


def test_there_are_three_runbooks() -> None:
    """One runbook heals, one asks for approval before it heals, and one undoes a heal."""
    assert [path.stem for path in FILES] == [
        "AddS3ExpressGatewayEndpoint",
        "AddS3ExpressGatewayEndpointWithApproval",
        "RemoveS3ExpressGatewayEndpoint",
    ]


def test_file_is_plain_yaml_of_schema_3(path: Path, runbook: Runbook) -> None:
    """A runbook has the elements of schema 0.3, assumes a role, and contains no CloudFormation syntax."""
    assert runbook["schemaVersion"] == "0.3"
    assert runbook.keys() == ELEMENTS
    assert runbook["assumeRole"] == "{{ AutomationAssumeRole }}"
    assert not re.search(r"(^|\s)!\w|Fn::|AWS::", path.read_text(encoding="utf-8"))


def test_document_is_smaller_than_the_limit(path: Path, runbook: Runbook) -> None:
    """YAML and JSON are far below 64 KB, because the parameters of an execution count toward the limit too."""
    assert len(path.read_bytes()) < LARGEST * 5 / 8
    assert len(json.dumps(runbook)) < LARGEST * 5 / 8


def test_parameters_are_described_and_constrained(runbook: Runbook) -> None:
    """Each parameter has a description and limits its values: a list, a pattern, or a maximum number of items."""
    for name, parameter in runbook["parameters"].items():
        assert parameter["type"] in {"String", "StringList"}, name
        assert parameter["description"].endswith("."), name
        constraint = "maxItems" if parameter["type"] == "StringList" else "allowedPattern"
        assert {constraint, "allowedValues"} & parameter.keys(), name


def test_patterns_use_the_syntax_of_systems_manager(runbook: Runbook) -> None:
    """Patterns are anchored, compile, fit SSM's length limit, and use no lookaround, which RE2 does not support."""
    for name, parameter in runbook["parameters"].items():
        if pattern := parameter.get("allowedPattern"):
            re.compile(pattern)
            assert pattern.startswith("^"), name
            assert pattern.endswith("$"), name
            assert len(pattern) <= LONGEST_PATTERN, name
            assert not re.search(r"\(\?<?[=!]|\\[1-9]", pattern), name


def test_defaults_are_allowed(runbook: Runbook) -> None:
    """Each default matches the parameter's own pattern or allowed values."""
    for name, parameter in runbook["parameters"].items():
        if "default" in parameter:
            default = parameter["default"]
            assert re.search(parameter.get("allowedPattern", ""), default) is not None, name
            assert default in parameter.get("allowedValues", [default]), name


def test_every_parameter_is_used(runbook: Runbook) -> None:
    """Every parameter is referenced by a step or by the assumed role."""
    assert references([runbook["assumeRole"], runbook["mainSteps"]]) >= runbook["parameters"].keys()


def test_steps_have_known_properties_and_unique_names(runbook: Runbook) -> None:
    """Each step has a description, a unique name, and only properties that Automation supports."""
    steps = flat(runbook)
    assert len({step["name"] for step in steps}) == len(steps)
    for step in steps:
        assert step.keys() <= STEP_PROPERTIES, step["name"]
        assert step.keys() >= {"name", "description", "action", "inputs"}, step["name"]
        assert re.fullmatch(r"[a-zA-Z0-9_]{3,128}", step["name"])


def test_inputs_match_the_actions(runbook: Runbook) -> None:
    """Each step uses a known action with all required inputs and no unknown ones."""
    for step in flat(runbook):
        given = step["inputs"].keys()
        if step["action"] in CALLS:
            assert given >= {"Service", "Api"} | CALLS[step["action"]], step["name"]
        else:
            needed, possible = INPUTS[step["action"]]
            assert needed <= given <= needed | possible, step["name"]
        for choice in step["inputs"].get("Choices", []):
            assert choice.keys() == CHOICE, step["name"]


def typed(node: Any, types: dict[str, str]) -> Any:
    """Return part of a runbook with a Boolean instead of each reference to a Boolean output."""
    if isinstance(node, dict):
        return {key: typed(value, types) for key, value in node.items()}
    if isinstance(node, list):
        return [typed(item, types) for item in node]
    match = REFERENCE.fullmatch(node) if isinstance(node, str) else None
    return True if match and types.get(match[1]) == "Boolean" else node


def test_api_calls_match_the_botocore_models(runbook: Runbook) -> None:
    """The service, operation, and parameters of each API call are valid in botocore's model."""
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


def test_selectors_match_the_api_responses(runbook: Runbook) -> None:
    """Each output selector leads to a member of the response in botocore's model."""
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
    "seenRun": "run-0",
    "seenState": "HEALED",
    "runId": "run-1",
    "undoRunId": "run-1",
    "startedAt": "2026-11-21T12:00:00.000+00:00",
    "startedBy": "CONFIG",
    "vpcId": "vpc-1",
    "dryRun": "true",
}


def test_plan_function_accepts_the_payloads(runbook: Runbook) -> None:
    """The function's own parser accepts each payload, with sample values instead of references."""
    steps = calls(runbook, "aws:invokeLambdaFunction")
    assert steps
    for step in steps:
        payload = step["inputs"]["InputPayload"]
        event = {key: SAMPLE.get(key, "") if REFERENCE.search(value) else value for key, value in payload.items()}
        assert parse_request(event).action == payload["action"]


def test_every_request_has_the_version_of_the_contract(runbook: Runbook) -> None:
    """A run that is still going when the stack is updated must not get the answers of another version."""
    for step in calls(runbook, "aws:invokeLambdaFunction"):
        assert step["inputs"]["InputPayload"]["contract"] == CONTRACT, step["name"]


def test_one_script_reads_every_answer(runbook: Runbook) -> None:
    """AWS documents only the output Payload, not whether it is text or an object, so a script accepts both."""
    steps = {step["name"]: step for step in flat(runbook)}
    for step in calls(runbook, "aws:invokeLambdaFunction"):
        assert "outputs" not in step, step["name"]
    reading = [step for step in steps.values() if step["inputs"].get("Handler") == "record"]
    [script] = {step["inputs"]["Script"] for step in reading}
    asked = [REFERENCE.fullmatch(step["inputs"]["InputPayload"]["answer"]) for step in reading]
    assert len({match[1] for match in asked if match}) == len(reading) > 2
    answer = {"next": "DONE", "ledger": []}
    for given in (answer, json.dumps(answer), json.dumps(json.dumps(answer))):
        found = script_host.run(script, "record", {"answer": given}, lambda service: ["no client", service])
        assert json.loads(found) == {"next": "DONE"}


def test_references_resolve(runbook: Runbook) -> None:
    """Each reference is a parameter, an Automation variable, or an output of an earlier step."""
    known = runbook["parameters"].keys() | AUTOMATION
    assert references(runbook["assumeRole"]) <= known
    for step in runbook["mainSteps"]:
        of_loop = set(known)
        for inner in step["inputs"].get("Steps", []):
            assert references(inner["inputs"]) <= of_loop, inner["name"]
            of_loop |= outputs(inner)
        assert references(step["inputs"]) <= of_loop, step["name"]
        known |= outputs(step)
    assert set(runbook["outputs"]) <= known


def test_all_double_braces_are_references(runbook: Runbook) -> None:
    """A misspelled reference would be passed on as text, so every pair of double braces must be a valid reference."""
    for text in strings(runbook["mainSteps"]):
        assert not re.search(r"\{\{|\}\}", REFERENCE.sub("", text)), text


def test_every_step_is_reachable_and_every_next_step_exists(runbook: Runbook) -> None:
    """All steps can be reached from the first one, every next step exists, and the last step ends the run."""
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
    """Every step that waits has its own timeout."""
    waiting = calls(runbook, "aws:approve", "aws:executeAutomation", "aws:waitForAwsResourceProperty")
    waiting += calls(runbook, "aws:invokeLambdaFunction")
    assert waiting
    assert all("timeoutSeconds" in step for step in waiting)
