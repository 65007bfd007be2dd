"""Check whether healing can work: settings, runbooks, quotas, and the change calendar."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from express_path.domain.heal.preflight import Quota
from express_path_cli.installation.answers import Answer, count_text, fail, ok, warn
from express_path_cli.installation.rule import Remediation

DEPLOY = "deploy the stack again"
MAX_CONCURRENT_RUNS = 100
"""How many automations run at the same time in an account and Region without adaptive concurrency; others wait
(https://docs.aws.amazon.com/systems-manager/latest/userguide/adaptive-concurrency.html)."""
MAX_CLEARED = 100
"""The most exceptions that one call deletes (botocore model: config RemediationExceptionResourceKeys)."""
_MODES = {
    "OFF": "healing is off: AWS Config does not start heals, but people can",
    "ON": "healing is on: AWS Config starts the runbook for each flagged subnet",
    "APPROVAL": "healing asks first: AWS Config starts the runbook that asks the approvers",
}


@dataclass(frozen=True, slots=True)
class Calendar:
    """The current state of a change calendar. `next_change` is AWS's text of when it changes, or empty."""

    state: str
    next_change: str = ""


def mode_of(remediation: Remediation | None, approval_document: str) -> str:
    """Return the mode that AWS Config is set to. `approval_document` is the runbook that asks the approvers."""
    if remediation is None or not remediation.automatic:
        return "OFF"
    return "APPROVAL" if remediation.document == approval_document else "ON"


def check_mode(expected: str | None, actual: str) -> Answer:
    """Return whether AWS Config is set to the stack's parameter RemediationMode, which is None without a stack."""
    if expected in (None, actual):
        return ok(_MODES[actual])
    return fail(f"the stack says RemediationMode {expected}, but AWS Config is set to {actual}", DEPLOY)


def check_remediation(remediation: Remediation | None, document: str) -> Answer:
    """Return whether the rule's remediation is the stack's runbook."""
    if remediation is None:
        return warn("the rule has no remediation: only express-path heal can heal, AWS Config cannot", DEPLOY)
    if document and remediation.document != document:
        return fail(f"the rule's remediation is {remediation.document}, not the stack's {document}", DEPLOY)
    return ok(f"the rule's remediation is {remediation.document}")


def check_document(name: str, status: str | None) -> Answer:
    """Return whether a runbook can be started. The status is None if it does not exist."""
    if status == "Active":
        return ok(f"runbook {name} is active")
    return fail(f"runbook {name} {f'is {status}' if status else 'does not exist'}", DEPLOY)


def check_exceptions(subnet_ids: Sequence[str], rule: str) -> Answer:
    """Return whether AWS Config no longer heals some subnets, usually because their heals failed too often."""
    if not subnet_ids:
        return ok("no subnet has a remediation exception")
    cleared = sorted(subnet_ids)[:MAX_CLEARED]
    rest = f" and {len(subnet_ids) - len(cleared)} more" if len(subnet_ids) > len(cleared) else ""
    keys = shlex.join(f"ResourceType=AWS::EC2::Subnet,ResourceId={subnet_id}" for subnet_id in cleared)
    return warn(
        f"{count_text(len(subnet_ids), 'subnet')} with a remediation exception, usually because heals failed too "
        f"often: {', '.join(cleared)}{rest}",
        "find the cause with express-path explain, fix it, then delete the exceptions so that AWS Config tries again",
        f"aws configservice delete-remediation-exceptions --config-rule-name {shlex.quote(rule)} --resource-keys {keys}",
    )


def check_quota(used: int, quota: Quota) -> Answer:
    """Return whether an endpoint can be created: how many count against the quota, and the quota."""
    usage = f"{used} of {count_text(quota.value, 'gateway endpoint')} allowed in the Region"
    if used >= quota.value:
        return fail(
            f"{usage}: heals cannot create one",
            f"increase the quota {quota.code}",
            f"aws service-quotas request-service-quota-increase --service-code vpc --quota-code {quota.code} "
            f"--desired-value {2 * quota.value}",
        )
    return ok(usage)


def check_automations(running: int) -> Answer:
    """Return whether further runs would wait."""
    count = f"{count_text(running, 'automation')} running; at most {MAX_CONCURRENT_RUNS} run at the same time"
    if running < MAX_CONCURRENT_RUNS:
        return ok(count)
    return warn(f"{count}: further heals are queued", "wait, or turn on adaptive concurrency in Systems Manager")


def check_calendar(name: str, calendar: Calendar | None) -> Answer:
    """Return whether the change calendar allows heals now. It is None if it does not exist."""
    if calendar is None:
        return fail(
            f"change calendar {name} does not exist: heals are blocked",
            "create it, or deploy the stack with another ChangeCalendarName",
        )
    until = f" until {calendar.next_change}" if calendar.next_change else ""
    if calendar.state == "OPEN":
        return ok(f"change calendar {name} is open{until}")
    return warn(f"change calendar {name} is closed{until}: heals are blocked", "wait, or open it")


def check_service(name: str | None) -> Answer:
    """Return whether gateway endpoints can be created. `name` is the service of EC2 for them, None if there is none."""
    if name:
        return ok(f"{name} is offered for gateway endpoints")
    return fail("EC2 offers no gateway endpoint for S3 Express here", "use a Region that offers S3 Express")
