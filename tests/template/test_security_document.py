"""SECURITY.md names what the stack's roles may do, no more and no less."""

import re
from functools import cache

from tests.support.iam import access_level, actions
from tests.support.template import ROOT, expanded
from tests.template.test_automation_role import EVERYTHING as APPROVALS
from tests.template.test_policy import EVERYTHING as READS

ACTION = re.compile(r"`([a-z0-9]+:[A-Z][A-Za-z]+)`")


@cache
def allowed(role: str) -> set[str]:
    """Return every action that a role allows in a stack with all options."""
    stack = expanded(**READS, **APPROVALS)
    policies = list(stack.properties(role)["Policies"])
    if role == "AutomationRole":
        policies.append(stack.properties("ApprovalPolicy"))
    statements = [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]
    return {action for statement in statements if statement["Effect"] == "Allow" for action in actions(statement)}


def named(heading: str) -> set[str]:
    """Return the actions that the table under a heading names."""
    section = (ROOT / "SECURITY.md").read_text(encoding="utf-8").split(f"### {heading}\n")[1].split("\n#")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return {action for row in rows for action in ACTION.findall(row)}


def test_runbooks_table_names_exactly_what_their_role_allows() -> None:
    """SECURITY.md lists exactly the actions that the runbooks' role allows."""
    assert named("The runbooks make every change") == allowed("AutomationRole")


def test_functions_table_names_all_that_is_not_a_plain_read_of_the_network() -> None:
    """SECURITY.md lists every action of the functions that is not a List or Read, and no action they lack."""
    functions = allowed("EvaluateRole") | allowed("HealthRole") | allowed("PlanRole")
    table = named("The functions only read the network")
    assert table <= functions
    assert {action for action in functions if access_level(action) not in {"List", "Read"}} <= table


def test_notices_table_names_exactly_what_their_role_allows() -> None:
    """SECURITY.md lists exactly the actions of the role that EventBridge uses."""
    [policy] = expanded(AlarmTopicArn="arn:aws:sns:us-east-1:210987654321:alarms").properties("NoticeRole")["Policies"]
    allowed_actions = {action for statement in policy["PolicyDocument"]["Statement"] for action in actions(statement)}
    assert named("EventBridge publishes notices") == allowed_actions
