"""The optional stack that measures on an instance: it can send one command, and the stack of the rule can send none."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import pytest

from sandbox.cloudformation.values import read
from tests.support.command import invoke
from tests.support.iam import access_level, actions
from tests.support.template import ROOT, source

SEND = "ssm:SendCommand"


@cache
def resources() -> dict[str, Any]:
    """Return the resources of measure/template.yaml, with short forms such as !Ref expanded."""
    found: dict[str, Any] = read(
        (ROOT / "instrument/express_path_instrument/measure/template.yaml").read_text(encoding="utf-8")
    )["Resources"]
    return found


def content(name: str) -> dict[str, Any]:
    """Return the content of one of its documents."""
    found: dict[str, Any] = resources()[name]["Properties"]["Content"]
    return found


def statements() -> list[dict[str, Any]]:
    """Return the statements of its role."""
    [policy] = resources()["MeasureRole"]["Properties"]["Policies"]
    found: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
    return found


def allowed_actions(node: Any) -> Iterator[str]:
    """Yield every action that any statement in a part of a template allows, under any condition."""
    if isinstance(node, dict) and node.get("Effect") == "Allow" and "Action" in node:
        yield from actions(node)
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for child in children:
        yield from allowed_actions(child)


def test_no_role_of_the_rule_can_send_commands() -> None:
    """Neither the healing role nor any other role of template.yaml allows ssm:SendCommand, also not by a wildcard."""
    allowed = list(allowed_actions(source()))
    assert "ec2:CreateVpcEndpoint" in allowed
    assert [action for action in allowed if fnmatchcase(SEND.lower(), action.lower())] == []
    runbooks = [path.read_text(encoding="utf-8") for path in (ROOT / "runbooks").glob("*.yaml")]
    assert runbooks
    assert not any("aws:runCommand" in text for text in runbooks)


def test_role_sends_only_the_stacks_command_to_tagged_instances() -> None:
    """SendCommand is allowed on one document, and on instances with the tag; the rest only reads."""
    sending = {statement["Sid"]: statement for statement in statements() if SEND in actions(statement)}
    assert sending["SendOnlyBench"]["Resource"]["Fn::Sub"].endswith("document/${BenchCommand}")
    assert sending["SendOnlyToTaggedInstances"]["Condition"] == {
        "StringEquals": {"ssm:resourceTag/express-path:bench": "allowed"}
    }
    rest = {action for statement in statements() for action in actions(statement)} - {SEND}
    assert rest
    assert {access_level(action) for action in rest} <= {"List", "Read"}


@pytest.mark.parametrize("document", ["BenchCommand", "MeasurePath"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Label", "$(reboot)"),
        ("Label", "a b"),
        ("Connections", "1;reboot"),
        ("Connections", "1,"),
        ("Seconds", "0"),
        ("Seconds", "5 --force"),
        ("Label", "after\n"),
    ],
)
def test_parameters_cannot_add_to_the_shell_command(document: str, name: str, value: str) -> None:
    """A shell reads the parameters, so their patterns accept no character with a meaning there."""
    parameter = content(document)["parameters"][name]
    assert not re.fullmatch(parameter["allowedPattern"].removeprefix("^").removesuffix("$"), value)
    assert re.fullmatch(parameter["allowedPattern"], parameter["default"])


def test_runbook_passes_every_parameter_of_the_command() -> None:
    """The runbook's step gives the command all of its parameters, with the same patterns."""
    [step] = content("MeasurePath")["mainSteps"]
    command, runbook = content("BenchCommand")["parameters"], content("MeasurePath")["parameters"]
    assert step["inputs"]["Parameters"] == {name: f"{{{{ {name} }}}}" for name in command}
    assert {name: runbook[name] for name in command} == command


def test_command_line_has_options_that_exist() -> None:
    """The options in the command are those of express-path bench get."""
    [step] = content("BenchCommand")["mainSteps"]
    [line] = [part["Fn::Sub"] for part in step["inputs"]["runCommand"] if isinstance(part, dict)]
    used = set(re.findall(r"--[a-z-]+", line.partition(" bench get ")[2]))
    assert used >= {"--label", "--connections", "--output"}
    offered = invoke(["bench", "get", "--help"])
    assert offered.exit_code == 0
    assert used <= set(re.findall(r"--[a-z-]+", offered.stdout))
