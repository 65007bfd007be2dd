"""What does not work of an installation, besides the evaluation itself. The health function and `express-path doctor` ask here.

Each `..._problem` says what is wrong with one component in a sentence, and is empty if nothing is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import BRIEF_CONFIG, Aws, Expecting, calling, pages
from express_path.adapters.ledger_policy import policy_problem, read_policy
from express_path.adapters.recorder import read_recorder, read_recorder_status, recorder_problem, types_problem
from express_path.adapters.remediation import Remediation, list_exceptions, read_remediation
from express_path.adapters.roles import assuming
from express_path.adapters.runbooks import runbooks_of
from express_path.adapters.topic_filters import NOTICE, Message, alarm_body, filters_problem, read_subscriptions
from express_path.domain.heal.records import MANAGED_TAG
from express_path.domain.network.resources import partition
from express_path.domain.policies.conditions import ABSENT, Value
from express_path.domain.policies.denials import allows_no_session, may_allow
from express_path.domain.policies.documents import parse_policy
from express_path.domain.policies.keys import KnownContext
from express_path.domain.policies.requests import ServiceRequest
from express_path.errors import ApiError, ExpressPathError, PolicyError, RecordError, SettingError
from express_path.events.schema import Fault
from express_path.fields import Description, identifier, json_text

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_config import ConfigServiceClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_ssm import SSMClient

KEY_OF_SNS = "alias/aws/sns"
"""The AWS managed key of SNS."""
OWNED = frozenset({"CREATE_COMPLETE", "IMPORT_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"})
"""The statuses of a resource that belongs to its stack, which created it, or imported what belonged to no other stack
(https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources-automatically.html).

A resource that was never created, such as one whose name was taken, is listed with its name, too (CREATE_FAILED).
"""
CHANGING = frozenset(
    {
        *("UPDATE_IN_PROGRESS", "UPDATE_FAILED", "UPDATE_ROLLBACK_IN_PROGRESS", "UPDATE_ROLLBACK_FAILED"),
        *("DELETE_IN_PROGRESS", "DELETE_FAILED"),
    }
)
"""The statuses of a resource that an update or a deletion of the stack has not finished.

Whether its name is that of the old resource, or of one that could not be created in its place, is not documented.
"""
_CLOUDWATCH, _EVENTBRIDGE, _CONFIG = "cloudwatch.amazonaws.com", "events.amazonaws.com", "config.amazonaws.com"


@dataclass(frozen=True, slots=True)
class Installation:
    """What a stack must have: the names of its resources by their logical IDs, its parameters, and its alarm topic.

    alarm_topic is an ARN, empty without a topic. notice_role is the name of a role, empty if EventBridge needs none. alarms
    are the logical IDs of all alarms.
    """

    stack_id: str
    names: Mapping[str, str]
    parameters: Mapping[str, str]
    alarm_topic: str
    notice_role: str
    alarms: tuple[str, ...]
    created: datetime

    @property
    def account_id(self) -> str:
        """The account of the stack."""
        return self.stack_id.split(":")[4]

    @property
    def notices(self) -> tuple[str, ...]:
        """The logical IDs of the rules of EventBridge that send notices; none without a topic."""
        return tuple(logical_id for logical_id in NOTICES if logical_id in self.names)

    def arn(self, service: str, resource: str) -> str:
        """Return the ARN of a resource in the account and Region of the stack."""
        _, partition_name, _, region, account_id, _ = self.stack_id.split(":", 5)
        return f"arn:{partition_name}:{service}:{region}:{account_id}:{resource}"

    def name(self, logical_id: str) -> str:
        """Return the name of a resource. Raise RecordError if the stack does not have it."""
        return identifier(self.names, logical_id, self.stack_id)


def read_installation(aws: Aws, stack_id: str) -> Installation:
    """Read from CloudFormation what a stack must have. Raise ApiError, and SettingError if the ID is empty.

    The ID is all that the health function is told about its stack, and its role can read no other stack. Only a deployment
    changes what CloudFormation answers. So nothing that is checked says what it should be: the mode does not come from the
    remediation, the ledger and the roles do not come from the plan function, and the notices do not come from the topic.
    CloudFormation also lists what a deployment removed, or could not create:
    https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_StackResourceSummary.html
    """
    if not stack_id:
        raise SettingError("STACK_ID", stack_id, "the ID of the function's stack")
    client = aws.client("cloudformation")
    with calling("cloudformation:DescribeStacks"):
        [stack] = client.describe_stacks(StackName=stack_id)["Stacks"]
    listed = pages(client, "cloudformation", "list_stack_resources", "StackResourceSummaries", StackName=stack_id)
    rows = [row for row in listed if row["ResourceStatus"] in OWNED | CHANGING]
    names = {row["LogicalResourceId"]: row.get("PhysicalResourceId", "") for row in rows}
    alarms = tuple(row["LogicalResourceId"] for row in rows if row["ResourceType"] == "AWS::CloudWatch::Alarm")
    parameters = {row["ParameterKey"]: row["ParameterValue"] for row in stack.get("Parameters", [])}
    account_id = stack["StackId"].split(":")[4]
    topic = parameters.get("AlarmTopicArn", "").replace("{region}", aws.region).replace("{account}", account_id)
    role, created = names.get("NoticeRole", ""), stack["CreationTime"]
    return Installation(stack["StackId"], names, parameters, topic, role, alarms, created)


def faults_of(aws: Aws, stack_id: str) -> list[Fault]:
    """Check everything, and return what does not work. A check that fails is a fault itself, and never raises."""
    aws = replace(aws, client_config=BRIEF_CONFIG)
    found = []
    checks = _checks(aws, stack_id)
    try:
        for component, problem in checks:
            found += _fault(component, problem)
    except ExpressPathError as error:
        found.append(Fault("stack", _unknown(error)))
    return found


def _fault(component: str, problem: Callable[[], str]) -> list[Fault]:
    try:
        text = problem()
    except ExpressPathError as error:
        text = _unknown(error)
    return [Fault(component, text)] if text else []


def _unknown(error: ExpressPathError) -> str:
    return f"it could not be checked: {error}"


def _checks(aws: Aws, stack_id: str) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield each component with its check. What a stack has only by choice is checked if it was chosen.

    Raise ApiError, RecordError, SettingError if it is not known what the stack must have.
    """
    yield "recorder", lambda: recorder_problem(read_recorder_status(aws.config))
    yield "recorder", lambda: types_problem(read_recorder(aws.config))
    stack = read_installation(aws, stack_id)
    rule_name = stack.parameters.get("RuleName", "")
    function = stack.name("EvaluateFunction")
    yield "rule", lambda: config_rule_problem(stack, read_config_rule(aws.config, stack.name("ConfigRule")))
    yield "evaluate function", partial(_check_function, aws, function)
    yield "evaluate function", lambda: invocation_problem(stack, read_function_policy(aws.functions, function))
    yield "evaluate function", lambda: silence_problem(stack, aws.cloudwatch, datetime.now(UTC))
    yield "health rule", partial(health_rule_problem, aws, stack)
    for name in runbooks_of(rule_name):
        yield "runbook", partial(_check_document, aws, name)
    mode, ledger = stack.parameters.get("RemediationMode", ""), stack.parameters.get("LedgerTableName")
    yield "remediation", partial(_check_remediation, aws, mode, rule_name)
    if mode != "OFF":
        yield "remediation exceptions", lambda: exceptions_problem(list_exceptions(aws.config, rule_name))
    yield "ledger", partial(_check_table, aws, ledger or stack.name("LedgerTable"))
    yield "plan function", partial(_check_function, aws, stack.name("PlanFunction"))
    for component, logical_id, effect in ROLES:
        yield component, partial(role_problem, aws.iam, stack.name(logical_id), effect)
    if network_role_arn := stack.parameters.get("NetworkRoleArn"):
        external_id = stack.parameters.get("NetworkRoleExternalId", "")
        yield "network role", partial(network_role_problem, aws, network_role_arn, external_id)
    yield "endpoints", partial(endpoints_problem, aws)
    if parameter := stack.parameters.get("EndpointPolicyParameter"):
        yield "endpoint policy", partial(policy_parameter_problem, aws, parameter)
    yield "log", partial(log_problem, aws, stack.name("EvaluateLogGroup"))
    if not (topic := stack.alarm_topic):
        return
    yield "alarm topic", lambda: alarm_topic_problem(stack, read_topic(aws.sns, topic))
    if topic.split(":")[4] == stack.account_id:  # only the account of a topic can read its subscriptions
        yield "alarm topic", partial(subscriptions_problem, aws, stack)
    for logical_id in stack.alarms:
        yield "alarm", partial(alarm_problem, aws.cloudwatch, stack, logical_id)
    for logical_id in NOTICES:
        yield "notice", partial(notice_problem, aws, stack.name(logical_id), topic)
    if role := stack.notice_role:
        yield "role of the notices", partial(role_problem, aws.iam, role, NO_NOTICES)


def _check_document(aws: Aws, name: str) -> str:
    return document_problem(name, read_document_status(aws.ssm, name))


def _check_table(aws: Aws, name: str) -> str:
    table = read_table(aws.dynamodb, name)
    problem = table_problem(name, None if table is None else str(table.get("TableStatus", "")))
    if problem or table is None:
        return problem
    return policy_problem(name, read_policy(aws.dynamodb, table["TableArn"]))


def _check_function(aws: Aws, name: str) -> str:
    throttled = is_throttled(aws.functions, name)
    return function_problem(name, read_function(aws.functions, name), throttled=throttled)


def _check_remediation(aws: Aws, mode: str, rule_name: str) -> str:
    heal, approval, _ = runbooks_of(rule_name)
    found = read_remediation(aws.config, rule_name)
    return mode_problem(mode, mode_of(found, approval)) or target_problem(found, (heal, approval))


# --- AWS Config ----------------------------------------------------------------------------------------------------


_STARTS = (
    "ConfigurationItemChangeNotification",
    "OversizedConfigurationItemChangeNotification",
    "ScheduledNotification",
)
"""What must start an evaluation."""


def read_config_rule(config: "ConfigServiceClient", name: str) -> Description | None:
    """Read a rule of AWS Config, or return None if it does not exist. Raise ApiError."""
    with Expecting("NoSuchConfigRuleException"), calling("config:DescribeConfigRules"):
        return next(iter(config.describe_config_rules(ConfigRuleNames=[name])["ConfigRules"]), None)
    return None


def config_rule_problem(stack: Installation, rule: Description | None) -> str:
    """Return why the rule of AWS Config does not evaluate with the stack's function. It is None if it does not exist."""
    name = stack.name("ConfigRule")
    if rule is None:
        return f"rule {name} of AWS Config does not exist: nothing is evaluated"
    if (state := rule["ConfigRuleState"]) not in ("ACTIVE", "EVALUATING"):
        return f"rule {name} of AWS Config is {state}"
    source, function = rule["Source"], stack.arn("lambda", f"function:{stack.name('EvaluateFunction')}")
    if source.get("SourceIdentifier") != function:
        return f"rule {name} of AWS Config invokes {source.get('SourceIdentifier')}, not the stack's {function}"
    starts = {row.get("MessageType") for row in source.get("SourceDetails", ())}
    if missing := [start for start in _STARTS if start not in starts]:
        return f"rule {name} of AWS Config is not invoked by {', '.join(missing)}"
    return ""


def mode_of(remediation: Remediation | None, approval_document: str) -> str:
    """Return the mode that AWS Config is set to. `approval_document` is the runbook that asks the approvers."""
    if remediation is None or not remediation.automatic:
        return "OFF"
    return "APPROVAL" if remediation.document == approval_document else "ON"


def mode_problem(expected: str, actual: str) -> str:
    """Return how AWS Config's setting differs from the stack's parameter RemediationMode."""
    return "" if actual == expected else f"the stack has RemediationMode {expected}, but AWS Config is set to {actual}"


def target_problem(remediation: Remediation | None, documents: Sequence[str]) -> str:
    """Return that the rule's remediation starts none of the stack's runbooks; nothing if there is none."""
    if remediation is None or remediation.document in documents:
        return ""
    return f"the rule's remediation is {remediation.document}, not the stack's {' or '.join(documents)}"


def exceptions_problem(subnet_ids: Sequence[str]) -> str:
    """Return that AWS Config no longer heals some subnets, and how to list and clear their exceptions."""
    if not subnet_ids:
        return ""
    return (
        f"AWS Config no longer heals subnets that have a remediation exception: {len(subnet_ids)} of them; express-path "
        "doctor lists them, and prints the command that clears the exceptions"
    )


# --- runbooks, ledger, function, roles -----------------------------------------------------------------------------


def read_document_status(ssm: "SSMClient", name: str) -> str | None:
    """Read the status of a runbook's default version, such as Active, or None if it does not exist. Raise ApiError."""
    with Expecting("InvalidDocument"), calling("ssm:DescribeDocument"):
        return ssm.describe_document(Name=name)["Document"].get("Status", "")
    return None


def document_problem(name: str, status: str | None) -> str:
    """Return why a runbook cannot be started. The status is None if it does not exist."""
    return "" if status == "Active" else f"runbook {name} {f'is {status}' if status else 'does not exist'}"


def read_table(dynamodb: "DynamoDBClient", name: str) -> Description | None:
    """Read a table, or return None if it does not exist. Raise ApiError."""
    with Expecting("ResourceNotFoundException"), calling("dynamodb:DescribeTable"):
        return dynamodb.describe_table(TableName=name)["Table"]
    return None


def table_problem(name: str, status: str | None) -> str:
    """Return why the ledger cannot be used. The status of its table is None if that does not exist."""
    if status is None:
        return f"ledger {name} does not exist: every heal and undo fails"
    return "" if status == "ACTIVE" else f"ledger {name} is {status}"


@dataclass(frozen=True, slots=True)
class FunctionState:
    """A function's state, that of its last update, the reason if either is not good, its log group, and its settings."""

    state: str
    update: str
    reason: str
    log_group: str
    environment: Mapping[str, str] = field(default_factory=dict)


def read_function(functions: "LambdaClient", name: str) -> FunctionState | None:
    """Read the state of a function of this account and Region, or return None if it does not exist. Raise ApiError."""
    with Expecting("ResourceNotFoundException"), calling("lambda:GetFunctionConfiguration"):
        found = functions.get_function_configuration(FunctionName=name)
        return FunctionState(
            found.get("State", "Active"),
            found.get("LastUpdateStatus", "Successful"),
            found.get("StateReason") or found.get("LastUpdateStatusReason") or "",
            found.get("LoggingConfig", {}).get("LogGroup") or f"/aws/lambda/{found['FunctionName']}",
            found.get("Environment", {}).get("Variables", {}),
        )
    return None


def is_throttled(functions: "LambdaClient", name: str) -> bool:
    """Read whether every invocation of a function is throttled: its reserved concurrency is 0. Raise ApiError.

    https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html. Not if there is no such function.
    """
    with Expecting("ResourceNotFoundException"), calling("lambda:GetFunctionConcurrency"):
        return functions.get_function_concurrency(FunctionName=name).get("ReservedConcurrentExecutions") == 0
    return False


def function_problem(name: str, found: FunctionState | None, *, throttled: bool) -> str:
    """Return why Lambda cannot run a function. One that is idle or being updated can. It is None if it does not exist.

    https://docs.aws.amazon.com/lambda/latest/dg/functions-states.html
    """
    if found is None:
        return f"function {name} does not exist"
    reason = f": {found.reason}" if found.reason else ""
    if found.state not in ("Active", "Inactive", "Pending"):
        return f"function {name} is {found.state}{reason}"
    if found.update == "Failed":
        return f"the last update of function {name} failed{reason}"
    return f"function {name} never runs, because its reserved concurrency is 0" if throttled else ""


def read_function_policy(functions: "LambdaClient", name: str) -> str:
    """Read the resource policy of a function, empty if there is none. Raise ApiError."""
    with Expecting("ResourceNotFoundException"), calling("lambda:GetPolicy"):
        return functions.get_policy(FunctionName=name)["Policy"]
    return ""


def invocation_problem(stack: Installation, policy: str) -> str:
    """Return that the policy of the rule's function does not let AWS Config invoke it. Raise RecordError, PolicyError."""
    name = stack.name("EvaluateFunction")
    arn = stack.arn("lambda", f"function:{name}")
    request = _request_of(_CONFIG, "lambda:InvokeFunction", arn, stack.account_id)
    if policy and may_allow(parse_policy(f"the policy of function {name}", policy), request):
        return ""
    return f"the policy of function {name} does not let AWS Config invoke it: nothing is evaluated"


LATELY = timedelta(hours=26)
"""How long ago the rule's function may have run: a day, an hour of delay, and an hour until CloudWatch has counted it."""


def silence_problem(stack: Installation, cloudwatch: "CloudWatchClient", now: datetime) -> str:
    """Return that the rule's function has not succeeded lately, as only AWS counts. Raise ApiError.

    CloudWatch has no count yet of the sweep that has just ended, so the one before it counts; a younger stack has none.
    """
    if now - stack.created <= LATELY:
        return ""
    name = stack.name("EvaluateFunction")
    counts = read_counts(cloudwatch, name, ("Invocations", "Errors"), now - LATELY, now)
    if sum(counts["Invocations"].values()) > sum(counts["Errors"].values()):
        return ""
    hours = int(LATELY.total_seconds() // 3600)
    return f"function {name} has not succeeded for {hours} hours, as CloudWatch counts: nothing is evaluated"


def read_counts(
    cloudwatch: "CloudWatchClient", function: str, metrics: Sequence[str], start: datetime, end: datetime
) -> Mapping[str, Mapping[datetime, float]]:
    """Read what CloudWatch counted of a function in each hour, by the name of the metric. Raise ApiError.

    https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
    """
    dimensions = [{"Name": "FunctionName", "Value": function}]
    queries: Any = [  # a literal of the stubs
        {
            "Id": name.lower(),
            "MetricStat": {
                "Metric": {"Namespace": "AWS/Lambda", "MetricName": name, "Dimensions": dimensions},
                "Period": 3600,
                "Stat": "Sum",
            },
        }
        for name in metrics
    ]
    with calling("cloudwatch:GetMetricData"):
        results = cloudwatch.get_metric_data(
            MetricDataQueries=queries, StartTime=start, EndTime=end, ScanBy="TimestampDescending"
        )["MetricDataResults"]
    by_id: dict[str, dict[datetime, float]] = {}
    for result in results:
        if result["StatusCode"] != "Complete":
            raise ApiError("cloudwatch:GetMetricData", result["StatusCode"], f"{result['Label']} of {function}")
        by_id[result["Id"]] = dict(zip(result["Timestamps"], result["Values"], strict=True))
    return {name: by_id[name.lower()] for name in metrics}


HEALS_FAIL = "every heal and undo fails"
"""What follows without the role of the runbooks, or of the plan function."""
NO_STOP = "express-path stop cannot stop heals"
"""What follows without the role that stops heals."""
NO_NOTICES = "no notice is sent"
"""What follows without the role of the notices."""
ROLES = (
    ("role of the runbooks", "AutomationRole", HEALS_FAIL),
    ("role of the plan function", "PlanRole", HEALS_FAIL),
    ("role that stops heals", "StopRole", NO_STOP),
)
"""The roles that every stack has: component, logical ID, and what follows without it."""


def role_problem(iam: "IAMClient", name: str, effect: str) -> str:
    """Return what is wrong with a role: that it does not exist. Raise ApiError."""
    with Expecting("NoSuchEntity", "NoSuchEntityException"), calling("iam:GetRole"):
        iam.get_role(RoleName=name)
        return ""
    return f"role {name} does not exist: {effect}"


def network_role_problem(aws: Aws, arn: str, external_id: str) -> str:
    """Return why the role in the network account cannot be assumed. IAM does not say whether it exists."""
    try:
        assuming(aws, arn, external_id)
    except ApiError as error:
        if not error.is_denied:
            raise
        return f"{arn} cannot be assumed, so paths beyond transit gateways are unknown"
    return ""


# --- endpoints -----------------------------------------------------------------------------------------------------


def policy_parameter_problem(aws: Aws, name: str) -> str:
    """Return why heals cannot use the endpoint policy in an SSM parameter, or why an endpoint with it is useless."""
    try:
        with calling("ssm:GetParameter"):
            found = aws.ssm.get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"]
    except ApiError as error:
        if error.code != "ParameterNotFound":
            raise
        return f"parameter {name} (EndpointPolicyParameter) does not exist: every heal that creates an endpoint fails"
    known = _now_in(aws.region)
    if allows_no_session(parse_policy(f"parameter {name}", found), known):
        return f"the endpoint policy in parameter {name} allows no {_SESSION}: endpoints that heals create let nothing through"
    return ""


def endpoints_problem(aws: Aws) -> str:
    """Return which endpoints that heals created have a policy that lets nothing through."""
    filters = [{"Name": f"tag:{MANAGED_TAG}", "Values": ["true"]}]
    found = pages(aws.ec2, "ec2", "describe_vpc_endpoints", "VpcEndpoints", Filters=filters)
    closed, unknown = [], []
    for endpoint in sorted(found, key=lambda row: str(row["VpcEndpointId"])):
        try:
            if _lets_nothing_through(endpoint, aws.region):
                closed.append(endpoint["VpcEndpointId"])
        except (PolicyError, RecordError) as error:
            unknown.append(f"the policy of an endpoint could not be evaluated: {error}")
    if closed:
        text = f"the policy of {', '.join(closed)} allows no {_SESSION}"
        unknown = [f"{text}: S3 Express cannot be reached from the subnets that use it", *unknown]
    return "; ".join(unknown)


_SESSION = "s3express:CreateSession"


def _lets_nothing_through(endpoint: Description, region: str) -> bool:
    """Return whether an endpoint's policy denies everything. Without a policy, an endpoint allows full access."""
    name, text = endpoint["VpcEndpointId"], endpoint.get("PolicyDocument")
    known = replace(_now_in(region), vpc_id=endpoint.get("VpcId", ""), endpoint_id=name)
    return bool(text) and allows_no_session(parse_policy(name, text), known)


def _now_in(region: str) -> KnownContext:
    """Return what is known of requests that are made now in a Region."""
    return KnownContext(region=region, partition=partition(region), now=datetime.now(UTC))


def log_problem(aws: Aws, name: str) -> str:
    """Return that the log of the rule's function does not exist. Raise ApiError."""
    with Expecting("ResourceNotFoundException"), calling("logs:DescribeLogStreams"):
        aws.client("logs").describe_log_streams(logGroupName=name, limit=1)
        return ""
    return f"log group {name} does not exist, so nothing shows what sweeps find"


# --- alarms and notices --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic: its confirmed subscriptions, its KMS key or an empty text, and its policy."""

    subscriptions: int
    key: str = ""
    policy: Mapping[str, Any] | None = None


def read_topic(sns: "SNSClient", arn: str) -> Topic | None:
    """Read an SNS topic, or return None if it does not exist. Raise ApiError, RecordError."""
    with Expecting("NotFound", "NotFoundException"), calling("sns:GetTopicAttributes"):
        found = sns.get_topic_attributes(TopicArn=arn)["Attributes"]
        policy = json_text(found, "Policy", arn) if found.get("Policy") else None
        return Topic(int(found.get("SubscriptionsConfirmed", "0")), found.get("KmsMasterKeyId", ""), policy)
    return None


def alarm_topic_problem(stack: Installation, topic: Topic | None) -> str:
    """Return why nobody gets what alarms or notices send to the topic of a stack. `topic` is None if it does not exist.

    CloudWatch cannot use the AWS managed key of SNS:
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Notify_Users_Alarm_Changes.html. Without a role,
    EventBridge itself publishes the notices. Raise RecordError, PolicyError.
    """
    arn = stack.alarm_topic
    if topic is None:
        return f"topic {arn} does not exist: nobody is notified"
    if topic.key.endswith(KEY_OF_SNS):
        return f"topic {arn} is encrypted with the key {KEY_OF_SNS}, which CloudWatch cannot use: nobody is notified"
    if topic.policy is not None and (problem := _policy_problem(stack, topic.policy)):
        return problem
    if not topic.subscriptions:
        return f"topic {arn} has no confirmed subscription: nobody is notified"
    return ""


def _policy_problem(stack: Installation, policy: Mapping[str, Any]) -> str:
    """Return what the policy of the alarm topic does not let CloudWatch, or EventBridge if it needs no role, publish."""
    arn = stack.alarm_topic
    document = parse_policy(f"the policy of topic {arn}", policy)
    publishers = [(_CLOUDWATCH, "CloudWatch", "nobody is notified", _alarm_arns(stack))]
    if not stack.notice_role:
        rules = {name: stack.arn("events", f"rule/{stack.name(name)}") for name in stack.notices}
        publishers.append((_EVENTBRIDGE, "EventBridge", NO_NOTICES, rules))
    for service, name, effect, arns in publishers:
        sources = arns or {"": ""}
        refused = [
            sender
            for sender, source in sources.items()
            if not may_allow(document, _request_of(service, "sns:Publish", arn, stack.account_id, source))
        ]
        if len(refused) == len(sources):
            return f"the policy of topic {arn} does not let {name} publish: {effect}"
        if refused:
            return f"the policy of topic {arn} does not let {name} publish what these send: {', '.join(refused)}"
    return ""


def _alarm_arns(stack: Installation) -> Mapping[str, str]:
    return {logical_id: stack.arn("cloudwatch", f"alarm:{stack.name(logical_id)}") for logical_id in stack.alarms}


_ABSENT_FOR_SERVICES = (
    *(
        "aws:principal",
        "aws:userid",
        "aws:username",
        "aws:federatedprovider",
        "aws:tokenissuetime",
        "aws:sourceidentity",
    ),
    *("aws:multifactorauth", "aws:calledvia", "aws:ec2instance", "aws:sourceip", "aws:sourcevpc", "aws:vpc"),
    *("aws:requesttag/", "aws:tagkeys", "sns:", "lambda:"),
)
"""How the keys begin that a service's own request does not have: those of people and roles, of networks, and of other actions.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html
"""


def _request_of(service: str, action: str, resource: str, account_id: str, source: str = "") -> ServiceRequest:
    """Return a request that a service makes now for an account. source is the ARN of what makes it, empty if not known.

    EventBridge does not meet the condition of a topic's default policy, aws:SourceOwner, unlike CloudWatch, and may not
    send the other keys of the source either:
    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html#eb-sns-permissions
    """
    now, (region, owner) = datetime.now(UTC), resource.split(":")[3:5]
    may_be_absent = [ABSENT] if service == _EVENTBRIDGE else []
    values: dict[str, Sequence[Value]] = {
        "aws:sourceaccount": [(account_id,), *may_be_absent],
        "aws:sourceowner": may_be_absent or [(account_id,)],
        "aws:principalisawsservice": [("true",)],
        "aws:principalservicename": [(service,)],
        "aws:principalservicenameslist": [(service,)],
        "aws:securetransport": [("true",)],
        "aws:viaawsservice": [("false",)],
        "aws:requestedregion": [(region,)],
        "aws:resourceaccount": [(owner,)],
        "aws:currenttime": [(now.isoformat(),)],
        "aws:epochtime": [(str(int(now.timestamp())),)],
    }
    if source:
        values["aws:sourcearn"] = [(source,), *may_be_absent]
    return ServiceRequest(service, action, resource, values, _ABSENT_FOR_SERVICES)


def subscriptions_problem(aws: Aws, stack: Installation) -> str:
    """Return which messages of alarms and notices no subscription of the alarm topic takes. Raise ApiError, RecordError."""
    region = stack.alarm_topic.split(":")[3]
    names = {stack.name(logical_id): logical_id for logical_id in stack.alarms}
    alarms = read_alarms(aws.cloudwatch, list(names)) or [{}]
    messages = [
        Message("alarm", names.get(row.get("AlarmName", ""), ""), alarm_body(row, stack.account_id, region))
        for row in alarms
    ]
    messages += [Message("notice", logical_id, NOTICE) for logical_id in stack.notices or ("",)]
    return filters_problem(stack.alarm_topic, read_subscriptions(aws.sns, stack.alarm_topic), messages)


WATCHES = {
    "HealthAlarm": "Errors",
    "ErrorsAlarm": "AsyncEventsDropped",
    "UnsentNoticesAlarm": "ApproximateNumberOfMessagesVisible",
    "FailedMessagesAlarm": "ApproximateNumberOfMessagesVisible",
    "SecurityHubBacklogAlarm": "ApproximateAgeOfOldestMessage",
    "SecurityHubSilenceAlarm": "Invocations",
}
"""The name of the metric that each alarm watches, by its logical ID."""


def read_alarms(cloudwatch: "CloudWatchClient", names: Sequence[str]) -> list[Description]:
    """Read alarms; those that do not exist are left out. Raise ApiError."""
    if not names:
        return []
    return list(pages(cloudwatch, "cloudwatch", "describe_alarms", "MetricAlarms", AlarmNames=names))


def alarm_problem(cloudwatch: "CloudWatchClient", stack: Installation, logical_id: str) -> str:
    """Return why an alarm of a stack does not tell the alarm topic what it must. Raise ApiError."""
    name = stack.name(logical_id)
    found = read_alarms(cloudwatch, [name])
    if not found:
        return f"alarm {name} ({logical_id}) does not exist: nobody is notified"
    [alarm] = found
    # An organization may let its alarms send nothing: then, another account tells people (org/monitoring.yaml).
    must_send = stack.parameters.get("AlarmMessages", "true") == "true"
    if not alarm.get("AlarmActions") or (must_send and not alarm.get("ActionsEnabled")):
        return f"the alarm {name} ({logical_id}) sends nothing: nobody is notified"
    if stack.alarm_topic not in alarm["AlarmActions"]:
        return f"the alarm {name} ({logical_id}) does not send to the alarm topic {stack.alarm_topic}"
    watched = {row["Value"] for row in alarm.get("Dimensions", ())}
    names = {part for text in stack.names.values() for part in (text, text.rpartition("/")[2], text.rpartition("|")[2])}
    if alarm.get("MetricName") != WATCHES[logical_id] or not watched & names:
        of = f"{alarm.get('MetricName')} of {', '.join(sorted(watched)) or 'nothing'}"
        return f"the alarm {name} ({logical_id}) watches {of}, not {WATCHES[logical_id]} of the stack"
    return ""


@dataclass(frozen=True, slots=True)
class EventRule:
    """A rule of EventBridge: its state, such as DISABLED, and the ARNs of its targets."""

    state: str
    targets: tuple[str, ...]


def read_event_rule(events: "EventBridgeClient", name: str, bus: str = "default") -> EventRule | None:
    """Read a rule of EventBridge, None if it or its bus does not exist. Raise ApiError."""
    try:
        with calling("events:DescribeRule"):
            state = events.describe_rule(Name=name, EventBusName=bus)["State"]
    except ApiError as error:
        if error.code != "ResourceNotFoundException":
            raise
        return None
    with calling("events:ListTargetsByRule"):
        targets = events.list_targets_by_rule(Rule=name, EventBusName=bus)["Targets"]
    return EventRule(state, tuple(target["Arn"] for target in targets))


def event_rule_problem(name: str, found: EventRule | None, target: str) -> str:
    """Return why a rule of EventBridge sends nothing to a target. It is None if it does not exist."""
    if found is None:
        return f"rule {name} of EventBridge does not exist"
    if found.state == "DISABLED":
        return f"rule {name} of EventBridge is disabled"
    return "" if target in found.targets else f"rule {name} of EventBridge sends nothing to {target}"


NOTICES = ("HealFailedNotice", "HealUndoneNotice", "EndpointLostNotice", "RecorderNotice")
"""The logical IDs of the rules of EventBridge that send notices."""


def health_rule_problem(aws: Aws, stack: Installation) -> str:
    """Return why the end of a sweep does not invoke the health function. Raise ApiError.

    CloudFormation calls a rule on a bus of its own by the name of the bus, |, and its name.
    """
    name, target = (
        stack.name("HealthRule").rpartition("|")[2],
        stack.arn("lambda", f"function:{stack.name('HealthFunction')}"),
    )
    return event_rule_problem(name, read_event_rule(aws.events, name, stack.name("EventBus")), target)


def notice_problem(aws: Aws, name: str, topic: str) -> str:
    """Return why a rule of EventBridge sends nothing to the alarm topic. Raise ApiError."""
    return event_rule_problem(name, read_event_rule(aws.events, name), topic)
