"""The message to the approvers of a heal: what will happen, then the findings, within the length that AWS allows."""

from collections.abc import Sequence

from express_path.domain.heal.records import FULL_ACCESS, Action, Finding, Plan

MAX_MESSAGE_LENGTH = 4096
"""The longest message of aws:approve, in characters
(https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-approve.html)."""
LISTED_SUBNETS = 20
"""How many subnets the message names."""
LONGEST_LINE = 600
"""The longest line about one finding, in characters; a dry run shows the complete text."""


def approval_message(plan: Plan, moved: Sequence[str]) -> str:
    """Return the request to approve a plan that creates or associates an endpoint.

    moved are the ids of the route table's subnets. Findings that do not fit are counted.
    """
    verdict = plan.verdict
    lines = [
        f"Approve to change the route to S3 Express One Zone in account {verdict.account_id}, {verdict.region}.",
        "",
        "If you approve:",
        f"- {_endpoint(plan)}",
        f"- Route table {verdict.route_table_id} is associated with it. {_subnets(moved)}",
        "- Open TCP connections from these subnets to S3 Express drop once; clients must connect again.",
        "- After that, bucket policies see private source addresses instead of the NAT's public address.",
        "- You can undo the heal: express-path heals shows the command.",
        "",
        f"Reason: {_cut(verdict.annotation)} ({verdict.subnet_id})",
    ]
    return _with_findings("\n".join(lines), plan.warnings)


def _endpoint(plan: Plan) -> str:
    if plan.action is not Action.CREATE_AND_ASSOCIATE:
        return f"Gateway endpoint {plan.endpoint_id} in {plan.verdict.vpc_id} is used. Only its route tables change."
    policy = "full access" if plan.policy == FULL_ACCESS else "the stack's endpoint policy"
    return f"Gateway endpoint {plan.service_name} is created in {plan.verdict.vpc_id}, with {policy}. It is free."


def _subnets(moved: Sequence[str]) -> str:
    """Say which subnets' traffic changes its path; the message names LISTED_SUBNETS of them."""
    named = ", ".join(moved[:LISTED_SUBNETS])
    rest = f" and {len(moved) - LISTED_SUBNETS} more" if len(moved) > LISTED_SUBNETS else ""
    subnets = "1 subnet" if len(moved) == 1 else f"{len(moved)} subnets"
    return f"S3 Express traffic of {subnets} no longer uses the NAT: {named}{rest}."


def _with_findings(message: str, findings: Sequence[Finding]) -> str:
    """Return the message with as many findings as fit, and the number of the others."""
    if not findings:
        return message
    message += f"\n\nWarnings ({len(findings)}):"
    for number, line in enumerate(map(_line, findings)):
        rest = _rest(len(findings) - number - 1)
        if len(message) + len(line) + len(rest) > MAX_MESSAGE_LENGTH:
            return message + _rest(len(findings) - number)
        message += line
    return message


def _line(finding: Finding) -> str:
    return "\n- " + _cut(f"{finding.blocker}: {finding.evidence}; {finding.cure}")


def _rest(number: int) -> str:
    """Say how many findings are not listed, and where to see them."""
    return f"\n- {number} more: run the heal with DryRun=true to see them." if number else ""


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 3] + "..."
