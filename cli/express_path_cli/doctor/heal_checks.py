"""Whether healing can work, as far as what is deployed tells: settings, runbooks, quotas, calendar."""

from collections.abc import Sequence
from typing import NamedTuple

from express_path_cli.doctor.answers import Answer, fail, ok, some, warn

DEPLOY = "deploy the stack again"
CONCURRENT = 100
"""How many automations run at once in an account and Region, unless it adapts to more; others wait
(https://docs.aws.amazon.com/systems-manager/latest/userguide/adaptive-concurrency.html)."""
CLEARED_AT_ONCE = 100
"""How many exceptions one call deletes (botocore model: config RemediationExceptionResourceKeys)."""
_MODES = {
    "OFF": "healing is off: AWS Config heals nothing by itself, a person may",
    "ON": "healing is on: AWS Config starts the runbook for each flagged subnet",
    "APPROVAL": "healing asks first: AWS Config starts the runbook that asks the approvers",
}


class Remediation(NamedTuple):
    """What AWS Config is set to do about flagged subnets: whether by itself, by which runbook, under which role."""

    automatic: bool
    document: str
    role_arn: str = ""


class Calendar(NamedTuple):
    """A change calendar as it is now; next_change is AWS's text of when that ends, empty where it does not say."""

    state: str
    next_change: str = ""


def mode_of(remediation: Remediation | None, asking: str) -> str:
    """The healing mode that is in force; asking is the runbook that asks approvers."""
    if remediation is None or not remediation.automatic:
        return "OFF"
    return "APPROVAL" if remediation.document == asking else "ON"


def judge_mode(meant: str | None, found: str) -> Answer:
    """Whether AWS Config does what the stack's parameter RemediationMode says; None where there is no stack."""
    if meant in (None, found):
        return ok(_MODES[found])
    return fail(f"the stack says RemediationMode {meant}, but AWS Config is set to {found}", DEPLOY)


def judge_remediation(remediation: Remediation | None, document: str) -> Answer:
    """Whether the rule's remediation names one of the stack's runbooks."""
    if remediation is None:
        return warn("the rule has no remediation: AWS Config offers no heal, express-path heal does", DEPLOY)
    if document and remediation.document != document:
        return fail(f"the rule's remediation is {remediation.document}, not the stack's {document}", DEPLOY)
    return ok(f"the rule's remediation is {remediation.document}")


def judge_document(name: str, status: str | None) -> Answer:
    """Whether a runbook can be started; status is None where there is none."""
    if status == "Active":
        return ok(f"runbook {name} is active")
    return fail(f"runbook {name} {f'is {status}' if status else 'does not exist'}", DEPLOY)


def judge_exceptions(subnet_ids: Sequence[str], rule: str) -> Answer:
    """Whether AWS Config leaves subnets alone because their heals failed too often; the command clears them."""
    if not subnet_ids:
        return ok("no subnet is excepted from healing")
    cleared = sorted(subnet_ids)[:CLEARED_AT_ONCE]
    rest = f" and {len(subnet_ids) - len(cleared)} more" if len(subnet_ids) > len(cleared) else ""
    keys = " ".join(f"ResourceType=AWS::EC2::Subnet,ResourceId={each}" for each in cleared)
    return warn(
        f"{some(len(subnet_ids), 'subnet')} excepted from healing, usually because heals failed too often: "
        f"{', '.join(cleared)}{rest}",
        "see why with express-path explain, fix it, then clear the exceptions so that AWS Config tries again",
        f"aws configservice delete-remediation-exceptions --config-rule-name {rule} --resource-keys {keys}",
    )


def judge_quota(used: int, quota: int, parameter: int | None) -> Answer:
    """Whether an endpoint can be created; parameter is the stack's GatewayEndpointQuota, by which heals go.

    https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-limits-endpoints.html
    """
    told = f"{used} of {some(quota, 'gateway endpoint')} that the Region may have"
    if used >= quota:
        return fail(
            f"{told}: no heal can create one",
            "raise the quota L-1B52E74A, and the stack parameter GatewayEndpointQuota with it",
            "aws service-quotas request-service-quota-increase --service-code vpc --quota-code L-1B52E74A "
            f"--desired-value {2 * quota}",
        )
    if parameter not in (None, quota):
        return warn(
            f"{told}, but heals go by the stack's {parameter}",
            f"deploy the stack with GatewayEndpointQuota={quota}",
        )
    return ok(told)


def judge_automations(running: int) -> Answer:
    """Whether further runs would wait."""
    told = f"{some(running, 'automation')} running; {CONCURRENT} do at once"
    if running < CONCURRENT:
        return ok(told)
    return warn(f"{told}: further heals wait in line", "wait, or turn on adaptive concurrency in Systems Manager")


def judge_calendar(name: str, calendar: Calendar | None) -> Answer:
    """Whether the change calendar lets heals through now; None where there is none of that name."""
    if calendar is None:
        return fail(
            f"change calendar {name} does not exist: heals are refused",
            "make it, or deploy the stack with another ChangeCalendarName",
        )
    until = f" until {calendar.next_change}" if calendar.next_change else ""
    if calendar.state == "OPEN":
        return ok(f"change calendar {name} is open{until}")
    return warn(f"change calendar {name} is closed{until}: heals are refused", "wait, or open it for a while")


def judge_service(name: str | None) -> Answer:
    """Whether gateway endpoints can be made; name is that of EC2's service for them, None where it offers none."""
    if name:
        return ok(f"{name} is offered for gateway endpoints")
    return fail("EC2 offers no gateway endpoint for S3 Express here", "use a Region that offers S3 Express")
