"""The page of what we rely on at AWS: generated from a list that has a line for all that templates and runbooks use.

`python -m tests.docs.test_what_we_rely_on` writes docs/reference/what-we-rely-on.md again.
"""

import json
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import yaml

from tests.support.heals import RUNBOOKS, all_steps, called
from tests.support.iam import actions
from tests.support.template import ROOT
from tests.template.test_permissions import PARAMETERS, deployed, statements

LIST = ROOT / "tests" / "docs" / "what_we_rely_on.yaml"
DOCUMENT = ROOT / "docs" / "reference" / "what-we-rely-on.md"
GROUPS: dict[str, list[dict[str, Any]]] = yaml.load(LIST.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
LINES = [line for lines in GROUPS.values() for line in lines]
_HEAD = """# What we rely on

These are the behaviors of AWS that the work or the safety of express-path rests on, for those who review it. The evidence is
a page of AWS, a test that others run at AWS (`_test.go`), or an issue. Where it is a probe, nobody has published the behavior:
try it in an account of your own first. `python -m tests.docs.test_what_we_rely_on` writes this page from a list, and a test
fails if a template or runbook uses a policy action, condition key, event, call, or step property that the list does not have.
"""


def page() -> str:
    """Return the whole page."""
    sections = ("\n".join([f"## {name}", "", *_table(lines), ""]) for name, lines in GROUPS.items())
    return "\n".join([_HEAD, *sections])


def _table(lines: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("| What AWS does | Where we use it | Evidence |", "|---|---|---|")
    for line in lines:
        places = [f"[{_name(place)}](../../{place})" for place in line["where"]]
        evidence = [f"[{_name(url)}]({url})" for url in line.get("source", [])]
        if "probe" in line:
            evidence = [f"only the acceptance run shows it: `{line['probe']}`"]
        yield f"| {line['what']} | {', '.join(places)} | {', '.join(evidence)} |"


def _name(address: str) -> str:
    """Return the last part of an address, and for an issue its repository and number."""
    *parts, last = re.split("[/#]", address)
    return f"{parts[-2]}#{last}" if last.isdecimal() else last.removesuffix(".html")


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
    for runbook in RUNBOOKS.glob("*.yaml"):
        for step in all_steps(runbook.stem).values():
            yield from (f"runbook:{name}" for name in _of_step(step))


def _of_step(step: dict[str, Any]) -> Iterator[str]:
    """Yield a step's action, its properties, its runtime, and the calls that it makes."""
    inputs = step["inputs"]
    yield from {step["action"], *step} - {"name", "action", "description", "inputs"}
    yield from called(step)
    if "Script" in inputs:
        yield inputs["Runtime"]


def test_the_page_is_made_from_the_list() -> None:
    """Run `.venv/bin/python -m tests.docs.test_what_we_rely_on` after a change of the list, and read the difference."""
    assert DOCUMENT.read_text(encoding="utf-8") == page()


def test_everything_that_is_used_has_one_line() -> None:
    """If this fails, it shows what has no line, and what is listed but no longer used."""
    listed = [key for line in LINES for key in line.get("covers", [])]
    needed = set(used())
    assert (sorted(needed - set(listed)), sorted(set(listed) - needed)) == ([], [])
    assert len(listed) == len(set(listed))


def test_terraform_creates_stack_sets_only() -> None:
    """Its configuration has no policies and events of its own, so no line covers any."""
    types = re.findall(r'^resource "(\w+)"', (ROOT / "org/terraform/main.tf").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(types) == {"aws_cloudformation_stack_set", "aws_cloudformation_stack_instances"}


def test_every_line_is_short_and_has_sources_or_a_probe() -> None:
    """A behavior that only the acceptance run shows has a probe of its own. Every other one has an address."""
    for line in LINES:
        assert len(line["what"].split()) <= 40, line
        assert ("source" in line) != ("probe" in line), line
        assert all(re.match(r"https://(docs\.aws\.amazon|github)\.com/", url) for url in line.get("source", [])), line
    probes = [line["probe"] for line in LINES if "probe" in line]
    assert sorted(probes) == sorted(set(probes))


if __name__ == "__main__":
    DOCUMENT.write_text(page(), encoding="utf-8")
