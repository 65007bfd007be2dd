"""The AWS CLI commands in the documents exist, with their options."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from botocore import xform_name
from botocore.session import Session

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
COMMAND = re.compile(r"\baws (?P<service>[a-z0-9]+) (?P<command>[a-z]+(?:-[a-z]+)+)(?P<rest>[^`#\n|]*)")
SERVICES = {"configservice": "config", "s3api": "s3"}
"""Names that the AWS CLI spells otherwise: https://docs.aws.amazon.com/cli/latest/reference/."""
GLOBAL = {"--output", "--profile", "--query", "--region"}
"""Options of every command: https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-options.html."""


def shown(document: Path) -> Iterator[re.Match[str]]:
    """Yield each AWS CLI command of a document; a shell function `ec2` stands for `aws ec2`."""
    text = document.read_text(encoding="utf-8").replace("\\\n", " ")
    yield from COMMAND.finditer(re.sub(r"^( *)ec2 (?=[a-z])", r"\1aws ec2 ", text, flags=re.MULTILINE))


@cache
def options(service: str) -> dict[str, set[str]]:
    """Return the commands of a service, each with its options, from botocore's model."""
    model = Session().get_service_model(SERVICES.get(service, service))
    shapes = {name: model.operation_model(name).input_shape for name in model.operation_names}
    return {
        xform_name(name, "-"): {f"--{xform_name(member, '-')}" for member in (shape.members if shape else {})}
        for name, shape in shapes.items()
    }


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_exist_with_their_options(document: Path) -> None:
    """Every AWS CLI command in the documents is valid and can be copied."""
    for found in shown(document):
        known = options(found["service"])
        assert found["command"] in known, found[0]
        assert set(re.findall(r"(?<= )--[a-z-]+", found["rest"])) <= known[found["command"]] | GLOBAL, found[0]


def test_the_commands_are_found() -> None:
    """The check above finds commands: a dozen calls for a dump, and how to start a runbook."""
    commands = [found["command"] for document in DOCUMENTS for found in shown(document)]
    assert {"describe-subnets", "search-transit-gateway-routes", "start-automation-execution"} <= set(commands)
    assert len(commands) > 20
