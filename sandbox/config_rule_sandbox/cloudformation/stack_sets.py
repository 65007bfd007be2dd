"""Stack instances of a StackSet: the same template in many accounts and Regions.

Each instance is a stack of its own. One that fails leaves the others as they are, as with a failure tolerance of 100 %:
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stacksets-concepts.html
"""

from collections.abc import Mapping
from typing import Any

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.stacks import Stack, create_stack
from config_rule_sandbox.cloudformation.text import read
from config_rule_sandbox.cloudformation.values import TemplateError
from config_rule_sandbox.server import Sandbox

REFUSED = ("Fn::Transform", "Transform")
"""What service-managed StackSets refuse with their default role, whatever the capabilities.

https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStackSet.html
"""


def deploy(
    sandbox: Sandbox,
    template: str,
    parameters: Mapping[str, str],
    account_id: str,
    region: str,
    stack_name: str = "StackSet-rule",
) -> Stack:
    """Create a stack in an account and Region from the text of a template; `failure` says why it failed, if it did.

    TemplateError if the template has a transform, or if it or its parameters are refused.
    """
    parsed = read(template)
    if transform := next(filter(None, (_found(parsed, name) for name in REFUSED)), None):
        raise TemplateError(f"service-managed StackSets do not accept {transform}")
    return create_stack(Account(sandbox, account_id, region), stack_name, parsed, parameters)


def _found(node: Any, name: str) -> str | None:  # noqa: ANN401  # JSON
    """Return the name if a key of a template has it."""
    if isinstance(node, list):
        return next(filter(None, (_found(item, name) for item in node)), None)
    if not isinstance(node, dict):
        return None
    return name if name in node else next(filter(None, (_found(value, name) for value in node.values())), None)
