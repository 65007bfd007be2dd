"""The role of the health function: its permissions are enough, and end at its own stack."""

import pytest

from config_rule_sandbox.server import Sandbox
from express_path.adapters.health import faults_of
from express_path.events.schema import Fault
from express_path.handlers.check_health import HealthServices, compose_services
from tests.support.stack import Stack, listed_stack

pytestmark = pytest.mark.slow


@pytest.fixture
def stack(sandbox: Sandbox) -> Stack:
    """The roles of a stack."""
    return Stack(sandbox)


def by_its_role(stack: Stack, monkeypatch: pytest.MonkeyPatch, stack_id: str) -> HealthServices:
    """Return the function's services with its role's credentials."""
    for name, value in stack.credentials("HealthRole").items():
        monkeypatch.setenv(name.upper(), value)
    return compose_services({"AWS_REGION": stack.sandbox.region, "STACK_ID": stack_id})


def refused(stack: Stack) -> set[str]:
    """Return the operations that were denied."""
    return {call.operation for call in stack.sandbox.calls if call.error in ("AccessDenied", "AccessDeniedException")}


def found(stack: Stack, services: HealthServices) -> list[Fault]:
    """Return what the check finds while permissions are enforced."""
    with stack.enforced():
        return faults_of(services.aws, services.stack_id)


def test_its_own_stack_can_be_checked(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the template's statements, no request of a check is denied."""
    services = by_its_role(stack, monkeypatch, str(stack.template.values["AWS::StackId"]))
    assert "stack" not in {fault.component for fault in found(stack, services)}
    assert refused(stack) == set()


def test_a_decoy_cannot_say_what_is_checked(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever points the function to a stack of his own, in which nothing can be missing, gets a fault."""
    decoy = listed_stack(stack.sandbox, "express-path/decoy", {"Topic": "topic"}, RemediationMode="OFF")
    faults = found(stack, by_its_role(stack, monkeypatch, decoy))
    assert "stack" in {fault.component for fault in faults}
    assert refused(stack) == {"DescribeStacks"}
