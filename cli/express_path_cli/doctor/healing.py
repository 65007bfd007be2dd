"""Can healing work."""

from collections.abc import Callable

from express_path_cli.doctor.approval_checks import judge_approval
from express_path_cli.doctor.checks import Answer, fail, ok
from express_path_cli.doctor.function_reader import read_function
from express_path_cli.doctor.heal_checks import (
    DEPLOY,
    judge_automations,
    judge_calendar,
    judge_document,
    judge_exceptions,
    judge_mode,
    judge_quota,
    judge_remediation,
    judge_service,
    mode_of,
)
from express_path_cli.doctor.heal_prerequisites import (
    count_gateway_endpoints,
    count_running_automations,
    find_express_service,
    read_calendar,
    read_document_status,
    read_endpoint_quota,
    role_exists,
)
from express_path_cli.doctor.ledger_checks import judge_ledger
from express_path_cli.doctor.ledger_reader import read_ledger, read_topic
from express_path_cli.doctor.look import Look
from express_path_cli.doctor.rule_checks import judge_function
from express_path_cli.doctor.rule_reader import list_exceptions


def mode(look: Look) -> Answer:
    """What AWS Config does about flagged subnets."""
    meant = look.parameter("RemediationMode") or None
    return judge_mode(meant, mode_of(look.remediation(), look.output("ApprovalDocumentName")))


def remediation(look: Look) -> Answer | None:
    """Whether the rule's remediation is the stack's runbook."""
    if look.rule is None or not (look.stack() or look.remediation()):
        return None
    asks = look.parameter("RemediationMode") == "APPROVAL"
    meant = look.output("ApprovalDocumentName" if asks else "HealDocumentName")
    return judge_remediation(look.remediation(), meant)


def runbook(output: str) -> Callable[[Look], Answer | None]:
    """The question whether the runbook that an output names can be started."""

    def ask(look: Look) -> Answer | None:
        name = look.output(output)
        return judge_document(name, read_document_status(look.aws.ssm, name)) if name else None

    return ask


def role(look: Look) -> Answer | None:
    """Whether the role that changes routing is there."""
    set_up = look.remediation()
    arn = look.output("AutomationRoleArn") or (set_up.role_arn if set_up else "")
    if not arn:
        return None
    if role_exists(look.aws.iam, arn):
        return ok(f"{arn} is there")
    return fail(f"{arn} does not exist: every heal would fail", DEPLOY)


def plan_function(look: Look) -> Answer | None:
    """Whether the function that plans and verifies can run."""
    name = look.output("PlanFunctionArn").rpartition(":")[2]
    return judge_function(name, read_function(look.aws.functions, name)) if name else None


def ledger(look: Look) -> Answer | None:
    """Whether the table that records heals is there and protected."""
    name = look.output("LedgerTableName")
    return judge_ledger(name, read_ledger(look.aws.dynamodb, name)) if name else None


def approval(look: Look) -> Answer | None:
    """Whether approvers can be asked."""
    arn, approvers = look.parameter("ApprovalTopicArn"), look.parameter("Approvers")
    if not arn and look.parameter("RemediationMode") != "APPROVAL":
        return None
    topic = read_topic(look.aws.sns, arn) if arn else None
    return judge_approval(arn, topic, approvers, look.parameter("ApprovalTopicKeyArn"))


def exceptions(look: Look) -> Answer | None:
    """Whether AWS Config leaves subnets alone."""
    if look.rule is None or look.remediation() is None:
        return None
    return judge_exceptions(list_exceptions(look.aws.config, look.rule.name), look.rule.name)


def endpoint_service(look: Look) -> Answer:
    """Whether EC2 makes endpoints for S3 Express here."""
    return judge_service(find_express_service(look.aws.ec2, look.aws.region))


def endpoint_quota(look: Look) -> Answer:
    """Whether another endpoint may be made."""
    meant = look.parameter("GatewayEndpointQuota")
    used = count_gateway_endpoints(look.aws.ec2)
    return judge_quota(used, read_endpoint_quota(look.aws.quotas), int(meant) if meant else None)


def automations(look: Look) -> Answer | None:
    """Whether further runs would wait."""
    if not (look.stack() or look.remediation()):
        return None
    return judge_automations(count_running_automations(look.aws.ssm))


def calendar(look: Look) -> Answer | None:
    """Whether the change calendar is open."""
    name = look.parameter("ChangeCalendarName")
    return judge_calendar(name, read_calendar(look.aws.ssm, name)) if name else None
