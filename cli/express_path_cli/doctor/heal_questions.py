"""Questions about healing."""

from express_path.adapters.heal_reader import read_quota
from express_path.domain.heal.preflight import ENDPOINT_QUOTA
from express_path_cli.doctor.approval_checks import check_approval
from express_path_cli.doctor.check_context import CheckContext
from express_path_cli.doctor.heal_checks import (
    DEPLOY,
    check_automations,
    check_calendar,
    check_document,
    check_exceptions,
    check_mode,
    check_quota,
    check_remediation,
    check_service,
    mode_of,
)
from express_path_cli.doctor.heal_prerequisites import (
    count_gateway_endpoints,
    count_running_automations,
    find_express_service,
    read_calendar,
    read_document_status,
    role_exists,
)
from express_path_cli.doctor.ledger_checks import check_ledger
from express_path_cli.doctor.ledger_reader import read_ledger, read_topic
from express_path_cli.doctor.rule_checks import check_function
from express_path_cli.installation.answers import Answer, fail, ok
from express_path_cli.installation.rule import list_exceptions, read_function


def mode(context: CheckContext) -> Answer:
    """Return what AWS Config does about flagged subnets."""
    expected = context.parameter("RemediationMode") or None
    return check_mode(expected, mode_of(context.remediation(), context.output("ApprovalDocumentName")))


def remediation(context: CheckContext) -> Answer | None:
    """Return whether the rule's remediation is the stack's runbook."""
    if context.rule is None or not (context.stack() or context.remediation()):
        return None
    needs_approval = context.parameter("RemediationMode") == "APPROVAL"
    document = context.output("ApprovalDocumentName" if needs_approval else "HealDocumentName")
    return check_remediation(context.remediation(), document)


def runbook(output: str, context: CheckContext) -> Answer | None:
    """Return whether the runbook in an output of the stack can be started."""
    name = context.output(output)
    return check_document(name, read_document_status(context.aws.ssm, name)) if name else None


def role(context: CheckContext) -> Answer | None:
    """Return whether the role that changes routing exists."""
    configured = context.remediation()
    arn = context.output("AutomationRoleArn") or (configured.role_arn if configured else "")
    if not arn:
        return None
    if role_exists(context.aws.client("iam"), arn):
        return ok(f"{arn} exists")
    return fail(f"{arn} does not exist: every heal fails", DEPLOY)


def plan_function(context: CheckContext) -> Answer | None:
    """Return whether the function that plans and verifies can run."""
    name = context.output("PlanFunctionArn").rpartition(":")[2]
    return check_function(name, read_function(context.aws.client("lambda"), name)) if name else None


def ledger(context: CheckContext) -> Answer | None:
    """Return whether the table that records heals exists and is protected."""
    name = context.output("LedgerTableName")
    return check_ledger(name, read_ledger(context.aws.dynamodb, name)) if name else None


def approval(context: CheckContext) -> Answer | None:
    """Return whether requests reach the approvers."""
    arn, approvers = _approval_topic(context), context.parameter("Approvers")
    if not arn and context.parameter("RemediationMode") != "APPROVAL":
        return None
    topic = read_topic(context.aws.client("sns"), arn) if arn else None
    return check_approval(arn, topic, approvers, context.parameter("ApprovalTopicKeyArn"))


def _approval_topic(context: CheckContext) -> str:
    """Return the ARN of the approval topic in this Region and account; an empty text if there is none."""
    account_id = context.output("AutomationRoleArn").partition("::")[2].partition(":")[0]
    arn = context.parameter("ApprovalTopicArn")
    return arn.replace("{region}", context.aws.region).replace("{account}", account_id)


def exceptions(context: CheckContext) -> Answer | None:
    """Return whether AWS Config no longer heals some subnets."""
    if context.rule is None or context.remediation() is None:
        return None
    return check_exceptions(list_exceptions(context.aws.config, context.rule.name), context.rule.name)


def endpoint_service(context: CheckContext) -> Answer:
    """Return whether EC2 offers gateway endpoints for S3 Express."""
    return check_service(find_express_service(context.aws.ec2, context.aws.region))


def endpoint_quota(context: CheckContext) -> Answer:
    """Return whether another endpoint can be created."""
    return check_quota(count_gateway_endpoints(context.aws.ec2), read_quota(context.aws, ENDPOINT_QUOTA))


def automations(context: CheckContext) -> Answer | None:
    """Return whether further runs would wait."""
    if not (context.stack() or context.remediation()):
        return None
    return check_automations(count_running_automations(context.aws.ssm))


def calendar(context: CheckContext) -> Answer | None:
    """Return whether the change calendar is open."""
    name = context.parameter("ChangeCalendarName")
    return check_calendar(name, read_calendar(context.aws.ssm, name)) if name else None
