"""scan --plan with a value of another form anywhere in the file is a result or an error of one line; our own bugs are neither."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from cfnlint.decode import decode_str

from express_path_cli.sources.change import (
    cloudformation,
    overrides,
    references,
    resolving,
    source_lines,
    terraform,
    terraform_document,
)
from express_path_cli.sources.change.families import firewalls, gateways, routes, tables, vpcs
from tests.cli.scan.test_template import NEW_TABLE, SPECIFIC, TEMPLATE, change, change_set
from tests.cli.sources.change.test_families import CASES, OVER_SAMPLE, with_firewall
from tests.cli.sources.change.test_resolving import fake
from tests.support.command import invoke
from tests.support.plans import UNKNOWN, PlanBuilder, nat_route, network

pytestmark = pytest.mark.usefixtures("no_credentials")

Place = tuple[str | int, ...]
FORMS: Sequence[Any] = (None, "", "x", 0, 1.5, True, [], ["x"], [[]], [{}], {}, {"x": 1})
"""Values of every form that JSON has."""


def whole_plan() -> PlanBuilder:
    """Return a plan with every part that is read: modules, variables, providers, a state, and what is deferred or deposed."""
    plan = nat_route(network(), "52.0.0.0/8", "specific").add_data("aws_availability_zones.all", {"names": ["a"]})
    plan.add("module.net.aws_route_table.inner", {"id": UNKNOWN, "vpc_id": UNKNOWN}, {"vpc_id": ["var.vpc"]})
    plan.pass_on("net", "vpc", ["aws_vpc.this.id", "aws_vpc.this"])
    plan.output("net", "table", ["aws_route_table.inner.id"])
    plan.add(
        "aws_route_table_association.a",
        {"subnet_id": UNKNOWN, "route_table_id": UNKNOWN},
        {"route_table_id": ["module.net.table"]},
    )
    gone = {"id": "rtb-1", "vpc_id": "vpc-1", "route": [{"cidr_block": "0.0.0.0/0", "gateway_id": "igw-1"}]}
    plan.add("aws_route_table.gone", None, before=gone, actions=["delete"], block={"provisioners": [{"type": "x"}]})
    document = plan.document
    document.update(complete=True, errored=False, variables={"cidr": {"value": "10.0.0.0/8"}})
    document["deferred_changes"] = [{"reason": "x", "resource_change": document["resource_changes"][-1]}]
    document["resource_changes"][0]["change"]["after_sensitive"] = {"tags": {"a": True}}
    document["resource_changes"][-1]["deposed"] = "00000001"
    kept = {"address": "module.net.aws_vpc.x", "type": "aws_vpc", "values": {"id": "vpc-9"}, "sensitive_values": {}}
    module = {"address": "module.net", "resources": [kept]}
    document["prior_state"]["values"]["root_module"]["child_modules"] = [module]
    configuration = document["configuration"]
    role = {"role_arn": {"constant_value": "arn:aws:iam::111122223333:role/x"}}
    configuration["provider_config"]["aws"]["expressions"]["assume_role"] = [role]
    call = configuration["root_module"]["module_calls"]["net"]
    call["module"]["variables"]["vpc"] = {"default": "vpc-1"}
    return plan


def whole_change_set(folder: Path) -> Any:
    """Return a change set with every part that is read."""
    dynamic = {"Evaluation": "Dynamic", "Target": {"Attribute": "Properties", "Name": "NatGatewayId"}}
    more = {"Details": [dynamic], "Replacement": "True", "PolicyAction": "Delete", "PhysicalResourceId": "r-1"}
    row = change("Modify", "Other", "Route", SPECIFIC, SPECIFIC, **more)
    return json.loads(change_set(folder, row, *NEW_TABLE).read_text(encoding="utf-8"))


def whole_template(_: Path) -> Any:
    """Return a template in JSON, in which functions have their long names."""
    return json.loads(json.dumps(decode_str(TEMPLATE)[0]))


ALONE, OVER = ("--plan-only", "--region", "us-east-1"), ("--example",)
DOCUMENTS: Mapping[str, tuple[Callable[[Path], Any], Sequence[str]]] = {
    "whole template": (whole_template, ALONE),
    "whole change set": (whole_change_set, OVER),
    "whole plan": (lambda _: whole_plan().document, ALONE),
    **{name: (lambda _, plan=plan: plan.document, ALONE) for name, (plan, _) in CASES.items()},
    **{name: (lambda _, plan=plan: plan.document, OVER) for name, (plan, _) in OVER_SAMPLE.items()},
}
"""Templates, change sets, and plans, and which network they are laid over."""


def places(document: Any, place: Place = (), kind: Place = ()) -> Iterator[tuple[Place, Place]]:
    """Yield the place of each value in a document, and its kind: with the types of resources, and without numbers."""
    if place:
        yield place, kind
    if isinstance(document, dict):
        types = tuple(str(document[name]) for name in ("type", "Type", "ResourceType") if name in document)
        for name, inner in document.items():
            yield from places(inner, (*place, name), (*kind, *types, name))
    elif isinstance(document, list):
        for number, inner in enumerate(document):
            yield from places(inner, (*place, number), (*kind, 0))


def of_each_kind(document: Any, seen: set[Place]) -> Iterator[Place]:
    """Yield one place of each kind that was not seen yet."""
    for place, kind in places(document):
        if kind not in seen:
            seen.add(kind)
            yield place


def replaced(document: Any, place: Place, value: Any) -> Any:
    """Return a document with another value in one place."""
    found = deepcopy(document)
    inner = found
    for part in place[:-1]:
        inner = inner[part]
    inner[place[-1]] = value
    return found


def check(file: Path, what: object, *options: str) -> None:
    """Check that a scan has a result, or an error of one line and nothing else."""
    result = invoke(["scan", "--plan", str(file), "--format", "json", *options])
    assert result.exit_code in (0, 1, 2), (what, result.output)
    assert "a bug" not in result.stderr, (what, result.stderr)
    if result.exit_code == 2:
        assert (result.stdout, result.stderr.count("\n")) == ("", 1), (what, result.output)


def check_with(folder: Path, document: Any, place: Place, form: Any, *options: str) -> None:
    """Check a scan of a document with another value in one place."""
    file = folder / "document.json"
    file.write_text(json.dumps(replaced(document, place, form)), encoding="utf-8")
    check(file, (place, form), *options)


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name.startswith("whole")])
def test_a_value_of_another_form_is_no_crash(tmp_path: Path, name: str) -> None:
    """Each kind of place gets one of the forms."""
    make, options = DOCUMENTS[name]
    document = make(tmp_path)
    for number, place in enumerate(of_each_kind(document, set())):
        check_with(tmp_path, document, place, FORMS[number % len(FORMS)], *options)


@pytest.mark.long
def test_a_value_of_any_form_is_no_crash(tmp_path: Path) -> None:
    """Each kind of place in all documents gets every form."""
    seen = set[Place]()
    for make, options in DOCUMENTS.values():
        document = make(tmp_path)
        for place in of_each_kind(document, seen):
            for form in FORMS:
                check_with(tmp_path, document, place, form, *options)


# --- with Terraform --------------------------------------------------------------------------------------------------


def planned_twice(folder: Path) -> tuple[Path, Any, tuple[str, ...]]:
    """Return the file with the plan of a firewall, what Terraform answers, and the options to ask a program that answers it."""
    plan = with_firewall()
    plan.document["configuration"]["provider_config"]["aws"]["full_name"] = "registry.terraform.io/hashicorp/aws"
    (folder / "main.tf").touch()
    (folder / ".terraform").mkdir()
    answer = {"type": "test_plan", "test_plan": {"resource_changes": plan.document["resource_changes"]}}
    write_answer(folder, answer)
    program = fake(folder, f"cat {folder / 'answer'}")
    return plan.write(folder), answer, (*ALONE, "--source", str(folder), "--terraform", program)


def write_answer(folder: Path, answer: Any) -> None:
    """Let Terraform answer the same for each order of ids."""
    line = json.dumps(answer, separators=(",", ":")) + "\n"
    (folder / "answer").write_text(line * len(resolving.ORDERS), encoding="utf-8")


@pytest.mark.long
def test_a_value_of_another_form_is_no_crash_with_terraform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of place in a plan and in Terraform's answer gets some of the forms."""
    monkeypatch.setattr(resolving, "POLL", 0.001)
    file, answer, options = planned_twice(tmp_path)
    plan = json.loads(file.read_text(encoding="utf-8"))
    assert "Terraform planned once more" in invoke(["scan", "--plan", str(file), *options]).stderr
    for number, place in enumerate(of_each_kind(answer, set())):
        for form in FORMS[number % 4 :: 4]:
            write_answer(tmp_path, replaced(answer, place, form))
            check(file, (place, form), *options)
    write_answer(tmp_path, answer)
    for number, place in enumerate(of_each_kind(plan, set())):
        for form in FORMS[number % 4 :: 4]:
            check_with(tmp_path, plan, place, form, *options)


# --- our own bugs ----------------------------------------------------------------------------------------------------

ROOM: Mapping[str, tuple[Any, str]] = {
    "a plan is read": (vars(terraform_document), "_change"),
    "the resources of a plan": (vars(terraform), "_tags"),
    "what is asked of Terraform": (vars(overrides), "known_values"),
    "what Terraform answers": (vars(resolving), "_existing"),
    "what a reference names": (vars(references), "union"),
    "the lines of blocks": (vars(source_lines), "_listed_modules"),
    "subnets": (vpcs.ADD, "aws_subnet"),
    "NAT gateways": (gateways.ADD, "aws_nat_gateway"),
    "firewalls": (firewalls.ADD, "aws_networkfirewall_firewall"),
    "route tables": (tables.ADD, "aws_route_table"),
    "routes": (routes.ADD, "aws_route"),
}
"""What a scan of a plan does, by the function that does it."""


@pytest.mark.parametrize("fault", [AttributeError, KeyError, TypeError, ValueError])
@pytest.mark.parametrize("what", ROOM)
def test_a_bug_of_ours_is_shown_as_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, fault: type[Exception]
) -> None:
    """It is never taken for a fault of the plan, or for a reason not to believe Terraform."""
    file, _, options = planned_twice(tmp_path)
    (tmp_path / ".terraform" / "modules").mkdir()
    (tmp_path / ".terraform" / "modules" / "modules.json").write_text("{}", encoding="utf-8")
    check_bug(monkeypatch, ROOM[what], fault, str(file), *options)


@pytest.mark.parametrize(("name", "function"), [("template", "_arguments"), ("change set", "_change")])
def test_a_bug_of_ours_is_no_fault_of_a_template(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, function: str
) -> None:
    """It is never taken for a fault of a template or a change set."""
    make, options = DOCUMENTS[f"whole {name}"]
    file = tmp_path / "document.json"
    file.write_text(json.dumps(make(tmp_path)), encoding="utf-8")
    check_bug(monkeypatch, (vars(cloudformation), function), ValueError, str(file), *options)


def check_bug(
    monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str], fault: type[Exception], file: str, *options: str
) -> None:
    """Check that an error raised by a function ends a scan as a bug of the command."""

    def broken(*_: object, **__: object) -> None:
        raise fault("made for this test")

    monkeypatch.setitem(*place, broken)
    result = invoke(["scan", "--plan", file, *options])
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"unexpected {fault.__name__}: " in result.stderr
    assert "a bug: run again with --debug" in result.stderr
