"""Read what heals and undos need beyond the snapshot: what a pre-flight checks, live resources, and the state of runs."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import Aws, Expecting, OptionalReads, calling, filtered, pages
from express_path.adapters.policies import endpoint_policies, resource_policies
from express_path.adapters.records import entry_blocks, route_table, vpc_endpoint
from express_path.adapters.runs import runs_since
from express_path.adapters.step_failures import failure_of
from express_path.domain.heal.approvals import ApprovalRun
from express_path.domain.heal.endpoints import counts_against_quota, express_endpoints, needs_more_routes_than_default
from express_path.domain.heal.failures import StepFailure
from express_path.domain.heal.ledger_records import RunRecord
from express_path.domain.heal.preflight import (
    ENDPOINT_QUOTA,
    ROUTE_QUOTA,
    AclEntry,
    EgressRule,
    Evidence,
    NetworkAcl,
    PortRange,
    Quota,
    tcp_ports,
)
from express_path.domain.heal.records import HealSettings
from express_path.domain.heal.undo_plan import LiveResources
from express_path.domain.network.addresses import Cidr
from express_path.domain.network.resources import RouteTable
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.errors import ApiError
from express_path.fields import (
    Description,
    block,
    count,
    identifier,
    nested,
    number,
    optional_free_text,
    required_flag,
    rows,
)

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient
    from mypy_boto3_ssm.type_defs import AutomationExecutionTypeDef

Blocks = tuple[Cidr, ...]


def evidence_for(
    aws: Aws, evaluator: Evaluator, verdict: Verdict, table: RouteTable, *, calendar_open: bool
) -> Evidence:
    """Read what a heal of a verdict's route table could affect: the table's subnets, and the VPC's S3 Express endpoints.

    Raise ApiError if any of it cannot be read, because a heal is safe only if everything is known. Only for a quota
    that cannot be read, AWS's default counts.
    """
    snapshot, vpc_id = evaluator.snapshot, verdict.vpc_id
    subnet_ids = frozenset(subnet.id for subnet in evaluator.tracer.governed_subnets(table))
    endpoint_ids = [endpoint.id for endpoint in express_endpoints(snapshot, vpc_id)]
    known = {key: record.cidrs for key, record in snapshot.prefix_lists.items() if record.cidrs is not None}
    endpoints = filtered(aws.ec2, "describe_vpc_endpoints", "VpcEndpoints", "vpc-endpoint-type", ["Gateway"])
    interfaces = filtered(aws.ec2, "describe_network_interfaces", "NetworkInterfaces", "vpc-id", [vpc_id])
    acls = filtered(aws.ec2, "describe_network_acls", "NetworkAcls", "vpc-id", [vpc_id])
    group_sets = frozenset(_groups(interface) for interface in interfaces if interface.get("SubnetId") in subnet_ids)
    # By id: a group may be of another VPC (https://docs.aws.amazon.com/vpc/latest/userguide/security-group-assoc.html).
    group_ids = sorted(frozenset().union(*group_sets))
    groups = filtered(aws.ec2, "describe_security_groups", "SecurityGroups", "group-id", group_ids)
    egress_rules = {identifier(group, "GroupId", "SecurityGroups"): _egress_rules(group) for group in groups}
    gateway_endpoints = sum(counts_against_quota(str(endpoint.get("State"))) for endpoint in endpoints)
    # No quota is lower than AWS's default, so most heals need none. Service Quotas accepts only a few calls per second.
    needs_endpoint_quota = gateway_endpoints >= ENDPOINT_QUOTA.value
    needs_route_quota = needs_more_routes_than_default(snapshot, table)
    return Evidence(
        group_sets=group_sets,
        egress_rules=egress_rules,
        prefix_lists={**known, **_unknown_lists(aws, egress_rules.values(), known)},
        network_acls=tuple(_network_acl(acl) for acl in acls if _is_associated(acl, subnet_ids)),
        dns_support=_vpc_attribute(aws, vpc_id, "enableDnsSupport"),
        dns_hostnames=_vpc_attribute(aws, vpc_id, "enableDnsHostnames"),
        policies=(*endpoint_policies(endpoints, endpoint_ids), *resource_policies(aws, snapshot.account_id)),
        gateway_endpoints=gateway_endpoints,
        endpoint_quota=_quota_or_default(aws, ENDPOINT_QUOTA) if needs_endpoint_quota else ENDPOINT_QUOTA,
        route_quota=_quota_or_default(aws, ROUTE_QUOTA) if needs_route_quota else ROUTE_QUOTA,
        calendar_open=calendar_open,
    )


def read_quota(aws: Aws, quota: Quota) -> Quota:
    """Return a quota with the account's value: the applied one, or AWS's default if none was applied. Raise ApiError.

    https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetServiceQuota.html
    """
    client, code = aws.client("service-quotas"), {"ServiceCode": "vpc", "QuotaCode": quota.code}
    try:
        with calling("servicequotas:GetServiceQuota"):
            answer = client.get_service_quota(**code)
    except ApiError as error:
        if error.code != "NoSuchResourceException":
            raise
        with calling("servicequotas:GetAWSDefaultServiceQuota"):
            answer = client.get_aws_default_service_quota(**code)
    return replace(quota, value=int(answer["Quota"]["Value"]))


def _quota_or_default(aws: Aws, quota: Quota) -> Quota:
    """Return the account's quota. If it cannot be read, AWS's default counts, because that can only block more."""
    try:
        return read_quota(aws, quota)
    except ApiError as error:
        return replace(quota, fault=f"{error.operation} failed with {error.code}")


def _groups(interface: Description) -> frozenset[str]:
    return frozenset(identifier(group, "GroupId", "Groups") for group in rows(interface, "Groups", "NetworkInterfaces"))


def _unknown_lists(
    aws: Aws, rules: Iterable[tuple[EgressRule, ...]], known: Mapping[str, Blocks]
) -> dict[str, Blocks | None]:
    """Return the blocks of the rules' prefix lists that are not in the snapshot, None for a list that cannot be read.

    Another account's list that is no longer shared is not found.
    """
    named = {list_id for of_group in rules for rule in of_group for list_id in rule.prefix_list_ids}
    optional = OptionalReads()
    return {list_id: optional.read(partial(_blocks, aws, list_id)) for list_id in sorted(named - known.keys())}


def _blocks(aws: Aws, list_id: str) -> Blocks | None:
    entries = pages(aws.ec2, "ec2", "get_managed_prefix_list_entries", "Entries", PrefixListId=list_id)
    listed = entry_blocks(entries, list_id)
    return None if listed.is_partial else listed.cidrs


def _ports(rule: Description, resource: str) -> PortRange | None:
    """Return the TCP ports of a rule of a security group or of a network ACL, which spell them differently."""
    if rule.get("IpProtocol") is None:
        ports = nested(rule, "PortRange", resource)
        first, last = number(ports, "From", resource), number(ports, "To", resource)
        return tcp_ports(identifier(rule, "Protocol", resource).lower(), first, last)
    first, last = number(rule, "FromPort", resource), number(rule, "ToPort", resource)
    return tcp_ports(identifier(rule, "IpProtocol", resource).lower(), first, last)


def _egress_rules(group: Description) -> tuple[EgressRule, ...]:
    group_id = identifier(group, "GroupId", "SecurityGroups")
    return tuple(
        EgressRule(
            _ports(rule, group_id),
            (
                *(block(row.get("CidrIp"), "CidrIp", group_id) for row in rows(rule, "IpRanges", group_id)),
                *(block(row.get("CidrIpv6"), "CidrIpv6", group_id) for row in rows(rule, "Ipv6Ranges", group_id)),
            ),
            tuple(identifier(row, "PrefixListId", group_id) for row in rows(rule, "PrefixListIds", group_id)),
        )
        for rule in rows(group, "IpPermissionsEgress", group_id)
    )


def _is_associated(acl: Description, subnet_ids: frozenset[str]) -> bool:
    return any(association.get("SubnetId") in subnet_ids for association in rows(acl, "Associations", "NetworkAcls"))


def _network_acl(acl: Description) -> NetworkAcl:
    acl_id = identifier(acl, "NetworkAclId", "NetworkAcls")
    return NetworkAcl(acl_id, tuple(_entry(entry, acl_id) for entry in rows(acl, "Entries", acl_id)))


def _entry(entry: Description, acl_id: str) -> AclEntry:
    field = "CidrBlock" if entry.get("CidrBlock") else "Ipv6CidrBlock"
    return AclEntry(
        number=count(entry, "RuleNumber", acl_id),
        egress=required_flag(entry, "Egress", acl_id),
        allow=identifier(entry, "RuleAction", acl_id) == "allow",
        ports=_ports(entry, acl_id),
        cidr=block(entry.get(field), field, acl_id),
    )


def _vpc_attribute(aws: Aws, vpc_id: str, attribute: Any) -> bool:  # noqa: ANN401  # a literal of the stubs
    with calling("ec2:DescribeVpcAttribute"):
        response: Mapping[str, Any] = aws.ec2.describe_vpc_attribute(VpcId=vpc_id, Attribute=attribute)
    return response[attribute[0].upper() + attribute[1:]]["Value"] is True


def read_live_resources(aws: Aws, vpc_id: str, endpoint_id: str) -> LiveResources:
    """Read what EC2 shows now, which may be outdated.

    https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html

    Both reads filter, so a deleted resource is missing instead of an error. Raise ApiError and RecordError.
    """
    endpoints = filtered(aws.ec2, "describe_vpc_endpoints", "VpcEndpoints", "vpc-endpoint-id", [endpoint_id])
    tables = filtered(aws.ec2, "describe_route_tables", "RouteTables", "vpc-id", [vpc_id])
    live = LiveResources(tuple(map(route_table, tables)), tuple(map(vpc_endpoint, endpoints)))
    for endpoint in endpoints:
        policy = optional_free_text(endpoint, "PolicyDocument", endpoint_id)
        live = replace(live, policy=policy, created_at=endpoint["CreationTimestamp"])
    return live


ENDED = frozenset(
    {
        "Success",
        "Failed",
        "TimedOut",
        "Cancelled",
        "Rejected",
        "CompletedWithSuccess",
        "CompletedWithFailure",
        "ChangeCalendarOverrideRejected",
        "Exited",
    }
)
"""The statuses of an execution that has ended (botocore model: ssm AutomationExecutionStatus)."""

_FAILED = ("Failed", "TimedOut")


def has_ended(ssm: "SSMClient", run_id: str) -> bool:
    """Return whether a run has ended or is no longer listed, so that its claims no longer count. Raise ApiError.

    https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetAutomationExecution.html
    """
    execution = _execution(ssm, run_id)
    return execution is None or execution["AutomationExecutionStatus"] in ENDED


HISTORY = timedelta(days=30)
"""How long Systems Manager lists executions (https://docs.aws.amazon.com/general/latest/gr/ssm.html)."""


def is_in_history(ssm: "SSMClient", heal: RunRecord, ledger_since: datetime) -> bool:
    """Return whether a heal's run named its route table and endpoint, or may be older than what Systems Manager lists.

    A run that is not listed is older than a young ledger, so the ledger cannot be the one of the heal. Raise ApiError.
    """
    execution = _execution(ssm, heal.run_id)
    if execution is None:
        return ledger_since < datetime.now(UTC) - HISTORY
    outputs = execution.get("Outputs", {})
    named = outputs.get("plan.RouteTableId"), outputs.get("recordIntent.VpcEndpointId")
    return named == ([heal.route_table_id], [heal.endpoint_id])


def _execution(ssm: "SSMClient", run_id: str) -> "AutomationExecutionTypeDef | None":
    """Return a run, None if it is not listed. Raise ApiError."""
    with Expecting("AutomationExecutionNotFoundException"), calling("ssm:GetAutomationExecution"):
        return ssm.get_automation_execution(AutomationExecutionId=run_id)["AutomationExecution"]
    return None


_RUN_ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_APPROVE = ("approve", "aws:approve")
"""The name and the action of the step that asks, in runbooks/AddS3ExpressGatewayEndpointWithApproval.yaml."""


def approval_run(
    ssm: "SSMClient", approval_run_id: str, settings: HealSettings, table_id: str, heal_run_id: str
) -> ApprovalRun | None:
    """Read what a run showed to approvers, what they answered, and whether a heal of the route table has used the answer.

    None if Systems Manager lists no such run. heal_run_id is the heal that is about to use it. The default version of the
    runbook that asks is read, too. Raise ApiError.
    https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_StepExecution.html
    """
    execution = _execution(ssm, approval_run_id) if _RUN_ID.fullmatch(approval_run_id) else None
    if execution is None:
        return None
    with calling("ssm:DescribeDocument"):
        default_version = ssm.describe_document(Name=settings.approval_document)["Document"].get("DefaultVersion", "")
    function = "".join(execution.get("Parameters", {}).get("PlanFunctionName", []))
    run = ApprovalRun(
        execution.get("DocumentName", ""), execution.get("DocumentVersion", ""), default_version, function
    )
    for step in execution.get("StepExecutions", []):
        if (step.get("StepName"), step.get("Action")) == _APPROVE:
            inputs = step.get("Inputs", {})
            run = replace(
                run,
                status="".join(step.get("Outputs", {}).get("ApprovalStatus", [])),
                message=shown_input(inputs.get("Message", "")),
                approvers=shown_inputs(inputs.get("Approvers", "")),
                decided_at=step.get("ExecutionEndTime"),
            )
    if run.decided_at is None:
        return run
    used_by = _heal_since(ssm, run.decided_at, settings.heal_document, table_id, heal_run_id)
    return replace(run, used_by=used_by)


def is_rejected(ssm: "SSMClient", approval_run_id: str) -> bool:
    """Return whether Systems Manager shows that an approver rejected the request of a run. Raise ApiError.

    The step failed before its time was over, and its status is Rejected, or still Waiting: it had sent the request, and AWS does
    not say what the status of a step is that failed
    (https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-approve.html).
    """
    execution = _execution(ssm, approval_run_id)
    for step in execution.get("StepExecutions", []) if execution else []:
        if (step.get("StepName"), step.get("Action"), step.get("StepStatus")) == (*_APPROVE, "Failed"):
            return "".join(step.get("Outputs", {}).get("ApprovalStatus", [])) in ("Rejected", "Waiting")
    return False


def _heal_since(ssm: "SSMClient", since: datetime, document: str, table_id: str, heal_run_id: str) -> str:
    """Return another run that set out to associate a route table and ended since a time; empty if there is none.

    Systems Manager shows it even if the ledger does not. Raise ApiError.
    """
    for run in runs_since(ssm, document, since):
        outputs = run.get("Outputs", {})
        is_of_table = outputs.get("plan.RouteTableId") == [table_id]
        endpoint_ids = outputs.get("recordIntent.VpcEndpointId", [])
        has_intended = any(endpoint_id.startswith("vpce-") for endpoint_id in endpoint_ids)
        if is_of_table and has_intended and run["AutomationExecutionId"] != heal_run_id:
            return str(run["AutomationExecutionId"])
    return ""


def shown_input(text: str) -> str:
    """Return a text from the input of a step, which Systems Manager may show as it is, in quotation marks, or as JSON.

    AWS does not document the form: "Fully-resolved values passed into the step before execution"
    (https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_StepExecution.html).
    """
    try:
        shown = json.loads(text)
    except ValueError:
        return text.removeprefix('"').removesuffix('"')
    return shown if isinstance(shown, str) else text


def shown_inputs(text: str) -> frozenset[str]:
    """Return the texts of a list from the input of a step, which Systems Manager may show as JSON or as plain words."""
    words = shown_input(text).strip("[]").split(",")
    return frozenset(word.strip(" \"'") for word in words)


def failed_steps(ssm: "SSMClient", run_id: str) -> list[StepFailure]:
    """Return why each step of a run failed that has failed so far, in the order in which they ended. Raise ApiError.

    After a long loop, the execution does not contain all steps, and the last ones say why the run failed.
    """
    with calling("ssm:GetAutomationExecution"):
        execution = ssm.get_automation_execution(AutomationExecutionId=run_id)["AutomationExecution"]
    steps: Sequence[Mapping[str, Any]] = execution.get("StepExecutions", [])
    if execution.get("StepExecutionsTruncated"):
        filters = [{"Key": "StepExecutionStatus", "Values": list(_FAILED)}]
        steps = pages(
            ssm,
            "ssm",
            "describe_automation_step_executions",
            "StepExecutions",
            AutomationExecutionId=run_id,
            Filters=filters,
        )
    failed = [step for step in steps if step.get("StepStatus") in _FAILED]
    failed.sort(key=lambda step: step["ExecutionEndTime"])
    return [failure_of(step["StepName"], step.get("FailureMessage", "no message")) for step in failed]
