"""Whether healing can work: settings, runbooks, quotas, the change calendar, the ledger, and approvers."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import Expecting, calling, pages
from express_path.adapters.heal_reader import read_quota
from express_path.adapters.health import (
    KEY_OF_SNS,
    Topic,
    document_problem,
    endpoints_problem,
    mode_of,
    mode_problem,
    policy_parameter_problem,
    read_document_status,
    read_table,
    read_topic,
    role_problem,
    table_problem,
    target_problem,
)
from express_path.adapters.ledger_policy import others_keep_table, policy_problem, read_policy
from express_path.adapters.remediation import Remediation, list_exceptions
from express_path.adapters.runbooks import runbooks_of
from express_path.adapters.unhealed import waiting_problem
from express_path.domain.heal.endpoints import counts_against_quota
from express_path.domain.heal.ledger_records import Stop
from express_path.domain.heal.preflight import ENDPOINT_QUOTA, Quota
from express_path.domain.network.snapshot import is_express_service
from express_path_cli.automation.exceptions import MAX_CLEARED
from express_path_cli.automation.release import content_hash, is_released, this_version, what_to_use
from express_path_cli.automation.starts import waiting_for_heals
from express_path_cli.automation.stops import read_stop
from express_path_cli.doctor.check_context import CheckContext, needed
from express_path_cli.doctor.rule import read_and_check_function
from express_path_cli.installation.checks import CheckResult, fail, judged, ok, warn
from express_path_cli.terminal.texts import count_text

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_ssm import SSMClient


DEPLOY = "deploy the stack again"
MAX_CONCURRENT_RUNS = 100
"""How many automations run at the same time in an account and Region without adaptive concurrency; others wait
(https://docs.aws.amazon.com/systems-manager/latest/userguide/adaptive-concurrency.html)."""
RETIRED = frozenset({"python3.6", "python3.7", "python3.8", "python3.9"})
"""The runtimes of scripts that are blocked since September 2025
(https://github.com/ministryofjustice/modernisation-platform/issues/11278), and that AWS no longer lists
(https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-executeScript.html)."""
_RUNTIME = re.compile(r"""\bRuntime["']?:\s*["']?([\w.]+)""")
"""The runtime of a script, in JSON or YAML."""
_MODES = {
    "OFF": "automatic healing is off: AWS Config starts no heals, but you can start one yourself",
    "ON": "automatic healing is on: AWS Config starts the runbook for each NON_COMPLIANT subnet",
    "APPROVAL": "healing needs an approval: AWS Config starts the runbook that asks the approvers",
}


@dataclass(frozen=True, slots=True)
class Calendar:
    """The current state of a change calendar. `next_change` is AWS's text of when it changes, or empty."""

    state: str
    next_change: str = ""


def check_mode(expected: str | None, actual: str) -> CheckResult:
    """Return whether AWS Config is set to the stack's parameter RemediationMode, which is None without a stack."""
    return judged([mode_problem(expected or actual, actual)], DEPLOY, _MODES[actual])


def check_stop(stop: Stop | None) -> CheckResult:
    """Return whether heals are allowed. `stop` says who stopped them; None if nobody did."""
    if stop is None:
        return ok("heals are not stopped")
    why = f": {stop.reason}" if stop.reason else ""
    return warn(
        f"{stop.by} stopped all heals at {stop.stopped_at}{why}",
        "ask them; after that, allow heals again",
        "express-path start",
    )


def check_remediation(remediation: Remediation | None, document: str) -> CheckResult:
    """Return whether the rule's remediation is the stack's runbook."""
    if remediation is None:
        return warn("the rule has no remediation, so AWS Config starts no heals; express-path heal still works", DEPLOY)
    if document and (problem := target_problem(remediation, (document,))):
        return fail(problem, DEPLOY)
    return ok(f"the rule's remediation is {remediation.document}")


def check_document(name: str, status: str | None, content: str) -> CheckResult:
    """Return whether a runbook can be started. The status is None if it does not exist."""
    if problem := document_problem(name, status):
        return fail(problem, DEPLOY)
    if retired := sorted(RETIRED.intersection(_RUNTIME.findall(content))):
        return fail(
            f"runbook {name} has scripts in {', '.join(retired)}, which Systems Manager no longer runs",
            "deploy the newest version of the stack",
        )
    return ok(f"runbook {name} is active")


def check_exceptions(subnet_ids: Sequence[str], rule: str) -> CheckResult:
    """Return whether AWS Config no longer heals some subnets, usually because their heals failed too often."""
    if not subnet_ids:
        return ok("no subnet has a remediation exception")
    cleared = sorted(subnet_ids)[:MAX_CLEARED]
    more = f" and {len(subnet_ids) - len(cleared)} more" if len(subnet_ids) > len(cleared) else ""
    keys = shlex.join(f"ResourceType=AWS::EC2::Subnet,ResourceId={subnet_id}" for subnet_id in cleared)
    return warn(
        f"{count_text(len(subnet_ids), 'subnet')} with a remediation exception, usually because heals failed too "
        f"often: {', '.join(cleared)}{more}",
        "find the cause with express-path explain, fix it, and delete the exceptions; after that, start the heals: "
        "express-path start",
        f"aws configservice delete-remediation-exceptions --config-rule-name {shlex.quote(rule)} --resource-keys {keys}",
    )


def check_quota(used: int, quota: Quota) -> CheckResult:
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


def check_automations(running: int) -> CheckResult:
    """Return whether further runs would wait."""
    count = f"{count_text(running, 'automation')} running; at most {MAX_CONCURRENT_RUNS} run at the same time"
    if running < MAX_CONCURRENT_RUNS:
        return ok(count)
    return warn(f"{count}: further heals are queued", "wait, or turn on adaptive concurrency in Systems Manager")


def check_calendar(name: str, calendar: Calendar | None) -> CheckResult:
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


def check_service(name: str | None) -> CheckResult:
    """Return whether gateway endpoints can be created. `name` is the service of EC2 for them, None if there is none."""
    if name:
        return ok(f"{name} is offered for gateway endpoints")
    return fail("EC2 offers no gateway endpoint for S3 Express here", "use a Region that offers S3 Express")


def count_running_automations(ssm: "SSMClient") -> int:
    """Read how many automations run in this account and Region, up to MAX_CONCURRENT_RUNS. Raise ApiError."""
    return len(
        pages(
            ssm,
            "ssm",
            "describe_automation_executions",
            "AutomationExecutionMetadataList",
            PaginationConfig={"MaxItems": MAX_CONCURRENT_RUNS},
            Filters=[{"Key": "ExecutionStatus", "Values": ["InProgress"]}],
        )
    )


def read_calendar(ssm: "SSMClient", name: str) -> Calendar | None:
    """Read the state of a change calendar, or return None if it does not exist. Raise ApiError."""
    with Expecting("InvalidDocument"), calling("ssm:GetCalendarState"):
        answer = ssm.get_calendar_state(CalendarNames=[name])
        return Calendar(answer["State"], answer.get("NextTransitionTime", ""))
    return None


def mode(context: CheckContext) -> CheckResult:
    """Return what AWS Config does about flagged subnets."""
    expected = context.parameter("RemediationMode") or None
    return check_mode(expected, mode_of(context.remediation(), context.output("ApprovalDocumentName")))


def stop(context: CheckContext) -> CheckResult | None:
    """Return whether somebody stopped all heals."""
    with Expecting("ResourceNotFoundException"):
        record = read_stop(context.aws.dynamodb, needed(context.output("LedgerTableName")))
        return check_stop(record.stop if record else None)
    return None  # the question about the ledger reports it


def remediation(context: CheckContext) -> CheckResult:
    """Return whether the rule's remediation is the stack's runbook."""
    needed(context.rule)
    needed(context.own_stack() or context.remediation())
    needs_approval = context.parameter("RemediationMode") == "APPROVAL"
    document = context.output("ApprovalDocumentName" if needs_approval else "HealDocumentName")
    return check_remediation(context.remediation(), document)


def runbook(logical_id: str, context: CheckContext) -> CheckResult:
    """Return whether a runbook can be started, and its default version is the one that the stack deployed."""
    name, ssm = needed(context.output(f"{logical_id}Name")), context.aws.ssm
    status, content = read_document_status(ssm, name), ""
    if status:
        with calling("ssm:GetDocument"):
            content = ssm.get_document(Name=name, DocumentFormat="JSON")["Content"]
        deployed = context.deployed(logical_id).get("Content")
        if deployed and content_hash(content) != content_hash(json.dumps(deployed)):
            return fail(
                f"the default version of runbook {name} is not the one that the stack deployed",
                "find out who changed it, then make the version that the stack deployed the default again",
                f"aws ssm list-document-versions --name {shlex.quote(name)}",
            )
        runbooks = runbooks_of(context.rule_name)
        if name in runbooks and not is_released(runbooks, name, content):
            return warn(
                f"runbook {name} is not the one of express-path {this_version()}: heal, undo, and start do not start it",
                what_to_use(needed(context.own_stack()).version),
            )
    return check_document(name, status, content)


def role(logical_id: str, effect: str, context: CheckContext) -> CheckResult:
    """Return whether a role of the stack exists, has the policies that it always has, and none is attached to it.

    CloudFormation's detection of drift does not see attached policies, because the template has none.
    """
    name, iam = needed(context.output(f"{logical_id}Arn")).rpartition("/")[2], context.aws.iam
    if problem := role_problem(iam, name, effect):
        return fail(problem, DEPLOY)
    with calling("iam:GetRole"):
        arn = iam.get_role(RoleName=name)["Role"]["Arn"]
    if ":role/express-path/" not in arn:
        return fail(
            f"role {arn} does not have the path of express-path: {effect}", "find out who made it, and delete it"
        )
    with calling("iam:ListRolePolicies"):
        inline = iam.list_role_policies(RoleName=name)["PolicyNames"]
    with calling("iam:ListAttachedRolePolicies"):
        attached = iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]
    always = {policy.get("PolicyName") for policy in context.deployed(logical_id).get("Policies", [])}
    if lost := always.difference(inline, [None]):  # one that depends on a condition has no name here
        policies = ", ".join(sorted(lost))
        return fail(f"role {name} has lost {policies}: {effect}", "find out who deleted it, then create it again")
    if attached:
        return fail(f"{attached[0]['PolicyArn']} was attached to role {name}", "find out who did it, then detach it")
    return ok(f"role {name} has its policies, and no other is attached")


def plan_function(context: CheckContext) -> CheckResult:
    """Return whether the function that plans and verifies can run."""
    return read_and_check_function(context, needed(context.output("PlanFunctionArn")).rpartition(":")[2])


def ledger(context: CheckContext) -> CheckResult:
    """Return whether the table that records heals exists and is protected."""
    name = needed(context.output("LedgerTableName"))
    return check_ledger(name, read_ledger(context.aws.dynamodb, name))


def approval(context: CheckContext) -> CheckResult:
    """Return whether requests reach the approvers."""
    arn = context.parameter("ApprovalTopicArn").replace("{region}", context.aws.region)
    arn = arn.replace("{account}", context.caller().account_id)
    needed(arn or context.parameter("RemediationMode") == "APPROVAL")
    topic = read_topic(context.aws.sns, arn) if arn else None
    return check_approval(arn, topic, context.parameter("Approvers"), context.parameter("ApprovalTopicKeyArn"))


def exceptions(context: CheckContext) -> CheckResult:
    """Return whether AWS Config no longer heals some subnets."""
    name = needed(context.rule).name
    needed(context.remediation())
    return check_exceptions(list_exceptions(context.aws.config, name), name)


def waiting(context: CheckContext) -> CheckResult:
    """Return whether AWS Config starts the heals of subnets that could be healed, in modes ON and APPROVAL."""
    name, remediation, table = needed(context.rule).name, context.remediation(), context.output("LedgerTableName")
    needed(table if remediation and remediation.automatic else None)
    return check_waiting(waiting_for_heals(context.aws, name, table, context.now), context.aws_options)


def check_waiting(subnet_ids: Sequence[str], options: str) -> CheckResult:
    """Return whether subnets could be healed and AWS Config has started no run for a day. options select the place."""
    command = f"express-path start{options}"
    if problem := waiting_problem(subnet_ids, command):
        return warn(problem, "start them; if they stay, express-path explain shows what blocks a heal", command)
    return ok("no subnet waits for a heal")


def endpoint_service(context: CheckContext) -> CheckResult:
    """Return whether EC2 offers gateway endpoints for S3 Express.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeVpcEndpointServices.html
    """
    gateways = [{"Name": "service-type", "Values": ["Gateway"]}]
    services = pages(context.aws.ec2, "ec2", "describe_vpc_endpoint_services", "ServiceDetails", Filters=gateways)
    names = (row["ServiceName"] for row in services)
    return check_service(next((name for name in names if is_express_service(name, context.aws.region)), None))


def endpoint_quota(context: CheckContext) -> CheckResult:
    """Return whether another endpoint can be created."""
    gateways = [{"Name": "vpc-endpoint-type", "Values": ["Gateway"]}]
    endpoints = pages(context.aws.ec2, "ec2", "describe_vpc_endpoints", "VpcEndpoints", Filters=gateways)
    used = sum(counts_against_quota(str(row.get("State"))) for row in endpoints)
    return check_quota(used, read_quota(context.aws, ENDPOINT_QUOTA))


def automations(context: CheckContext) -> CheckResult:
    """Return whether further runs would wait."""
    needed(context.own_stack() or context.remediation())
    return check_automations(count_running_automations(context.aws.ssm))


def endpoint_policy(context: CheckContext) -> CheckResult:
    """Return whether endpoints that heals created, and those that they will create, let requests through."""
    needed(context.own_stack())
    problems = [endpoints_problem(context.aws)]
    if parameter := context.parameter("EndpointPolicyParameter"):
        problems.append(policy_parameter_problem(context.aws, parameter))
    fix = "change the policy, so that it allows s3express:CreateSession to whoever uses S3 Express"
    return judged(problems, fix, "the policies of endpoints of heals let requests through")


def calendar(context: CheckContext) -> CheckResult:
    """Return whether the change calendar is open."""
    name = needed(context.parameter("ChangeCalendarName"))
    return check_calendar(name, read_calendar(context.aws.ssm, name))


@dataclass(frozen=True, slots=True)
class LedgerRecord:
    """The ledger's table: its status, its protection, and its resource policy, or None."""

    status: str
    is_protected: bool
    is_restorable: bool
    policy: Mapping[str, Any] | None


def check_ledger(name: str, found: LedgerRecord | None) -> CheckResult:
    """Return whether heals and undos can rely on the ledger. `found` is None if the table does not exist."""
    problem = table_problem(name, found.status if found else None)
    if found is None:
        return fail(
            problem,
            "restore the table from a backup, or deploy the stack with the LedgerTableName of an existing ledger",
        )
    if problem:
        return fail(problem, "wait until it is ACTIVE, or check the table in DynamoDB")
    if problem := policy_problem(name, found.policy):
        return fail(
            problem,
            "deploy the stack again, or give the table the resource policy in template.yaml (OnlyRunbooksWrite)",
        )
    if not others_keep_table(found.policy):
        return warn(
            f"principals other than the deploying role can delete ledger {name}, or replace its resource policy",
            "deploy the stack that created the ledger with DeployingRoleArn, or give the table the resource policy in "
            "template.yaml (OnlyDeployingRoleChangesTable)",
        )
    if not found.is_protected:
        return warn(
            f"ledger {name} has no deletion protection: without the ledger, heals can no longer be undone",
            "turn on deletion protection",
            f"aws dynamodb update-table --table-name {shlex.quote(name)} --deletion-protection-enabled",
        )
    if not found.is_restorable:
        return warn(
            f"ledger {name} has no point-in-time recovery",
            "turn on point-in-time recovery",
            f"aws dynamodb update-continuous-backups --table-name {shlex.quote(name)} "
            "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true",
        )
    return ok(f"ledger {name} exists, and only the runbooks write to it")


def check_approval(arn: str, topic: Topic | None, approvers: str, key: str) -> CheckResult:
    """Return whether a request reaches somebody who may approve it. `topic` is None if it does not exist.

    `approvers` and `key` are the stack's parameters Approvers and ApprovalTopicKeyArn.
    """
    names = [name for name in approvers.split(",") if name]
    if not names:
        return fail("nobody may approve a heal", "deploy the stack with Approvers")
    if topic is None:
        return fail(
            f"topic {arn or '(none)'} does not exist: nobody is notified", "deploy the stack with ApprovalTopicArn"
        )
    if topic.key and not topic.key.endswith(KEY_OF_SNS) and not key:
        return fail(
            f"topic {arn} is encrypted with {topic.key}, which the runbooks may not use: no request is sent",
            "deploy the stack with the ARN of that key as ApprovalTopicKeyArn",
        )
    if not topic.subscriptions:
        return warn(
            f"topic {arn} has no confirmed subscription: approvers must find requests in Systems Manager",
            "subscribe the approvers",
            f"aws sns subscribe --topic-arn {shlex.quote(arn)} --protocol email --notification-endpoint ADDRESS",
        )
    return ok(f"{count_text(len(names), 'approver')}, notified through {arn}")


def read_ledger(dynamodb: "DynamoDBClient", name: str) -> LedgerRecord | None:
    """Read the ledger's table, or return None if it does not exist. Raise ApiError."""
    table = read_table(dynamodb, name)
    if table is None:
        return None
    with calling("dynamodb:DescribeContinuousBackups"):
        backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    recovery = backups.get("PointInTimeRecoveryDescription", {})
    return LedgerRecord(
        table.get("TableStatus", ""),
        is_protected=table.get("DeletionProtectionEnabled", False),
        is_restorable=recovery.get("PointInTimeRecoveryStatus") == "ENABLED",
        policy=read_policy(dynamodb, table["TableArn"]),
    )
