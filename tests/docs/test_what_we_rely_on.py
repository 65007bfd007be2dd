"""The list of what we rely on at AWS has a line for all that templates and runbooks use."""

import json
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

from tests.docs.generated import GROUPS
from tests.support.heals import APPROVED, HEAL, UNDO, all_steps, called
from tests.support.iam import actions
from tests.support.template import ROOT
from tests.template.test_permissions import PARAMETERS, deployed, statements
from tests.test_docs import names_in

LINES = [line for lines in GROUPS.values() for line in lines]


def used() -> Iterator[str]:
    """Yield what the templates, the policies of the organization, and the runbooks use of AWS, as `covers` spells it."""
    policies = [json.loads(path.read_text(encoding="utf-8")) for path in (ROOT / "org").glob("*.json")]
    for resources in [*policies, *(deployed(name).resources for name in PARAMETERS)]:
        for statement in statements(resources):
            yield from (f"condition:{key}" for tested in statement.get("Condition", {}).values() for key in tested)
            if "Principal" in statement:
                yield from (f"resource-policy:{action}" for action in actions(statement))
        for resource in resources.values():
            properties = resource.get("Properties", {}) if isinstance(resource, dict) else {}
            if "EventPattern" in properties:
                pattern = properties["EventPattern"]
                yield from (f"event:{'/'.join(pair)}" for pair in product(pattern["source"], pattern["detail-type"]))
            elif "FunctionName" in properties and "Principal" in properties:
                yield f"resource-policy:{properties['Action']}"
    for name in (HEAL, APPROVED, UNDO):
        for step in all_steps(name).values():
            yield from (f"runbook:{name}" for name in _of_step(step))


def _of_step(step: dict[str, Any]) -> Iterator[str]:
    """Yield a step's action, its properties, its runtime, and the calls that it makes."""
    inputs = step["inputs"]
    yield from {step["action"], *step} - {"name", "action", "description", "inputs"}
    yield from called(step)
    if "Script" in inputs:
        yield inputs["Runtime"]


def test_everything_that_is_used_has_one_line() -> None:
    """If this fails, it shows what has no line, and what is listed but no longer used."""
    listed = [key for line in LINES for key in line.get("covers", [])]
    needed = set(used())
    assert (sorted(needed - set(listed)), sorted(set(listed) - needed)) == ([], [])
    assert len(listed) == len(set(listed))


def test_every_place_exists() -> None:
    """A line names files, some with a symbol of the module or a resource of the template."""
    places = {tuple(place.split("#")) for line in LINES for place in line["where"]}
    known = {file: set(names_in(ROOT / file)) for file, *_ in places}
    assert [(file, *name) for file, *name in places if not known[file].issuperset(name)] == []


def test_terraform_creates_stacks_only() -> None:
    """Its configuration has no policies and events of its own, so no line covers any."""
    types = re.findall(r'^resource "(\w+)"', (ROOT / "org/terraform/main.tf").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(types) == {"aws_cloudformation_stack", "terraform_data"}


def test_every_line_is_short_and_has_sources_or_a_probe() -> None:
    """A behavior that only the acceptance run shows has a probe of its own. Every other one has an address."""
    for line in LINES:
        assert len(line["what"].split()) <= 40, line
        assert ("source" in line) != ("probe" in line), line
        assert all(re.match(r"https://(docs\.aws\.amazon|github)\.com/", url) for url in line.get("source", [])), line
    probes = [line["probe"] for line in LINES if "probe" in line]
    assert sorted(probes) == sorted(set(probes))
