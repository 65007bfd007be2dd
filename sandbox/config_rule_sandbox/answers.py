"""What AWS does not document: switches, each with the answers that AWS may give. `Sandbox.answers` has them.

The first answer of a switch is the one that the sandbox gives unless a test wants another one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import get_type_hints


class RemediationTrigger(StrEnum):
    """What starts an automatic remediation, besides PutRemediationConfigurations.

    Documented is that PutRemediationConfigurations starts it for every noncompliant resource, and that it relies on
    results that are captured periodically:
    https://docs.aws.amazon.com/config/latest/APIReference/API_PutRemediationConfigurations.html
    """

    REPORTED_RESULT = "reported result"
    """Each NON_COMPLIANT result that a rule reports, also if it is the same as before."""
    STORED_RESULT = "stored result"
    """Each NON_COMPLIANT result that is stored when the results are captured, however old it is."""
    CHANGED_RESULT = "changed result"
    """A result that becomes NON_COMPLIANT."""
    CONFIGURATION_ONLY = "configuration only"
    """Nothing else."""


class RemediationSnapshot(StrEnum):
    """How old the results are with which AWS Config decides what to remediate.

    https://docs.aws.amazon.com/config/latest/APIReference/API_PutRemediationConfigurations.html: a periodically captured
    snapshot, which may be outdated.
    """

    CURRENT = "current"
    HOURS_OLD = "hours old"


class FirstSweep(StrEnum):
    """What makes AWS Config send the first scheduled message of a rule.

    https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config-rules.html: a periodic rule is evaluated at the
    chosen frequency. It does not say when the first period begins, or whether an update begins another one.
    """

    AT_CREATION_AND_UPDATE = "at creation and update"
    AT_CREATION = "at creation"
    AFTER_A_PERIOD = "after a period"


class UpdatedRule(StrEnum):
    """What AWS Config sends to a rule that follows changes, if the rule is updated.

    https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config-rules.html: it evaluates resources if a rule is
    created. It does not mention updates.
    """

    EVERYTHING = "everything"
    """The last item of each resource in scope."""
    NOTHING = "nothing"


class RepeatedItem(StrEnum):
    """What difference the message with an item has that AWS Config sends again.

    https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules_example-events.html has no example
    of one.
    """

    NULL = "null"
    ABSENT = "absent"
    """There is no difference in the message."""
    UNCHANGED = "unchanged"
    """An update without changed properties."""
    CREATED = "created"
    """A creation, as of a resource that is new."""


class ItemOrder(StrEnum):
    """How messages about changes arrive.

    AWS Config invokes functions asynchronously:
    https://docs.aws.amazon.com/lambda/latest/dg/invocation-async.html says that a function may get an event several times. It
    does not mention an order.
    """

    IN_ORDER = "in order"
    REVERSED = "reversed"
    REPEATED = "repeated"
    """Each arrives twice, the second time after all others."""


class NewerTypes(StrEnum):
    """What AWS Config does with the newer types in the scope of a rule: those whose items are CloudFormation's.

    https://docs.aws.amazon.com/config/latest/developerguide/resource-config-reference.html lists them. It does not say where
    each of them triggers rules.
    """

    TRIGGERS = "triggers"
    REFUSED = "refused"
    """PutConfigRule refuses a scope with one of them."""
    NOT_RECORDED = "not recorded"
    """They have no items, although the recorder records everything."""


class NewerItems(StrEnum):
    """What the configuration in items of the newer types has.

    https://github.com/awslabs/aws-config-resource-schema has no schema of them.
    """

    AS_IN_CLOUDFORMATION = "as in CloudFormation"
    AS_IN_EC2 = "as in EC2"
    """The description of the API in camel case, as items of older types."""
    EMPTY = "empty"
    """Nothing. The item names its resource."""
    NAMED_BY_ARN = "named by ARN"
    """Nothing. The item names its resource by the ARN."""


class OlderResult(StrEnum):
    """What becomes of a stored result if another one is reported with an older ordering timestamp.

    https://docs.aws.amazon.com/config/latest/APIReference/API_Evaluation.html: it is the time of the event that triggered the
    evaluation. It does not say what it is for.
    """

    STAYS = "stays"
    IS_REPLACED = "is replaced"


class StoredResults(StrEnum):
    """How soon the results that a rule reports can be read.

    https://docs.aws.amazon.com/config/latest/APIReference/API_PutEvaluations.html does not say.
    """

    AT_ONCE = "at once"
    LATER = "later"
    """After an hour. Until then, the result before is returned."""


class ItemState(StrEnum):
    """How a state is written in items that an aggregator returns.

    https://github.com/awslabs/aws-config-resource-schema has an object with the state as its value.
    """

    TEXT = "text"
    OBJECT = "object"


class AggregatorItems(StrEnum):
    """How soon an item is in an aggregator.

    https://docs.aws.amazon.com/config/latest/developerguide/aggregate-data.html does not say.
    """

    AT_ONCE = "at once"
    LATER = "later"
    """After an hour. Until then, the item before is returned, or none."""


class RemediationOnDemand(StrEnum):
    """What StartRemediationExecution does with a resource that nothing keeps from being remediated.

    https://docs.aws.amazon.com/config/latest/APIReference/API_StartRemediationExecution.html: it returns the resources
    that have failed to start, with one message. It does not say why resources may fail, besides those that are compliant.
    """

    STARTED = "started"
    FAILED_ITEM = "failed item"
    """It returns the resource in FailedItems."""
    REFUSED = "refused"
    """It refuses the whole request."""
    IGNORED = "ignored"
    """It accepts the resource, and starts nothing."""
    STARTED_TWICE = "started twice"


class BusyResource(StrEnum):
    """What StartRemediationExecution does if a resource is being remediated.

    https://docs.aws.amazon.com/config/latest/APIReference/API_StartRemediationExecution.html: an existing call for the
    resource must complete before the next one.
    """

    FAILED_ITEM = "failed item"
    REFUSED = "refused"
    """It refuses the whole request with InvalidParameterValueException."""


class RaisedError(StrEnum):
    """What becomes of a step aws:invokeLambdaFunction whose function raises an error.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-lamb.html has the output FunctionError,
    and does not say whether the step fails.
    """

    FAILS_STEP = "fails step"
    IS_OUTPUT = "is output"
    """The step succeeds. Its output FunctionError is set, and Payload is the error."""


class LaterSteps(StrEnum):
    """How GetAutomationExecution and DescribeRemediationExecutionStatus show steps that have not begun."""

    PENDING = "pending"
    ABSENT = "absent"


class LoopFailure(StrEnum):
    """What becomes of a loop with a step that fails and whose onFailure names a step outside of the loop.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-loop.html: the loop inherits the
    onFailure of its steps, and reacts accordingly. It does not say that they may name a step outside, and shows no example.
    """

    GOES_TO_NAMED_STEP = "goes to named step"
    IS_REFUSED = "is refused"
    """CreateDocument refuses such a document."""
    GOES_TO_NEXT_STEP = "goes to next step"
    """The name is ignored: the automation goes on with the step below the loop."""
    GOES_ON = "goes on"
    """The failure is ignored: the loop goes on with its next step."""
    ENDS = "ends"
    """The automation ends. Its status says that it failed if the loop is critical."""


class LoopSteps(StrEnum):
    """How the steps inside of a loop are listed.

    https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_AutomationExecution.html: where
    StepExecutionsTruncated is true, DescribeAutomationStepExecutions has the full list.
    """

    LISTED = "listed"
    CUT = "cut"
    """GetAutomationExecution leaves them out and says so. DescribeAutomationStepExecutions lists them."""
    UNLISTED = "unlisted"
    """Neither lists them. GetAutomationExecution says that it leaves something out."""


class MissingOutput(StrEnum):
    """What stands for an output that has no value: its selector found nothing, or its step did not succeed.

    https://docs.aws.amazon.com/cli/latest/reference/ssm/describe-automation-executions.html has an example with the text.
    No page says what a later step gets.
    """

    TEXT = "text"
    EMPTY = "empty"
    """An empty text."""
    ABSENT = "absent"
    """Nothing: it is not listed, and where a later step refers to it, the reference stays."""


class StepInputs(StrEnum):
    """How the inputs of a step are shown.

    https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_StepExecution.html: they are fully resolved values.
    It does not show a text or a list.
    """

    QUOTED = "quoted"
    """A text in quotation marks, with nothing escaped. Lists as JSON."""
    PLAIN = "plain"
    """A text as it is. A list of texts in brackets, with commas between them."""
    JSON = "json"
    UNRESOLVED = "unresolved"
    """As in the document, with references."""


class UnapprovedStep(StrEnum):
    """What follows a step aws:approve that is rejected or expires, and whose onFailure names a step.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-approve.html says that the automation
    stops with the status Timed Out if the step expires, and has an example with onFailure.
    """

    GOES_TO_NAMED_STEP = "goes to named step"
    ENDS = "ends"
    """The automation ends with the status of the step."""


class RejectedStatus(StrEnum):
    """What the output ApprovalStatus of a step aws:approve is that was rejected.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-approve.html: Approved, Rejected, or
    Waiting. It does not say whether a step that failed has outputs.
    """

    REJECTED = "rejected"
    WAITING = "waiting"
    ABSENT = "absent"
    """The step has no outputs."""


class Ipv6List(StrEnum):
    """How EC2 lists the prefix list with the IPv6 addresses of S3 Express.

    https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html has only the name of the list
    with IPv4 addresses, and that of the IPv6 list of VPC Lattice.
    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribePrefixLists.html does not mention IPv6.
    """

    MANAGED = "managed"
    """As com.amazonaws.<region>.ipv6.s3express, and only in DescribeManagedPrefixLists."""
    PLAIN = "plain"
    """Under the same name, also in DescribePrefixLists."""
    NAMED_DIFFERENTLY = "named differently"
    """As com.amazonaws.<region>.s3express-ipv6."""
    NONE = "none"
    """There is no such list."""


class RegionalNatTable(StrEnum):
    """How DescribeRouteTables shows the association of a regional NAT gateway with its own route table.

    https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateways-regional.html: the gateway comes with a route table. It does
    not say how that is shown.
    """

    GATEWAY = "gateway"
    """As that of a gateway: the gateway's ID is the GatewayId."""
    UNASSOCIATED = "unassociated"
    """Not at all."""


class ShownBlockMode(StrEnum):
    """How soon a subnet shows that Block Public Access or an exclusion was changed, in BlockPublicAccessStates.

    https://docs.aws.amazon.com/vpc/latest/userguide/security-vpc-bpa-basics.html: it may take a few minutes for the settings to
    take effect and the status to be updated. It does not say what subnets show meanwhile, or when AWS Config has an item.
    """

    AT_ONCE = "at once"
    LATER = "later"
    """After an hour. Until then, they show the settings before, and the status is update-in-progress."""


class UsedToken(StrEnum):
    """What CreateVpcEndpoint does with a client token whose endpoint was deleted.

    https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html: a repeated request returns the same answer without
    further actions, even if the resource has changed. It does not mention one that is gone.
    """

    DELETED_ENDPOINT = "deleted endpoint"
    """It returns the deleted endpoint."""
    NEW_ENDPOINT = "new endpoint"
    ERROR = "error"
    """It refuses the request with IdempotentParameterMismatch."""


class TableAddedAgain(StrEnum):
    """What ModifyVpcEndpoint does with a route table to add that is associated with the endpoint.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ModifyVpcEndpoint.html does not say.
    """

    NO_CHANGE = "no change"
    ERROR = "error"
    """It refuses the request with RouteAlreadyExists."""


class EndpointKeys(StrEnum):
    """What condition keys EC2 gives for the endpoint that CreateVpcEndpoint and DeleteVpcEndpoints name.

    https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html lists the keys of the type
    vpc-endpoint for both calls, and does not say which of them each endpoint has.
    """

    SERVICE_AND_TAGS = "service and tags"
    NO_SERVICE = "no service"
    """No ec2:VpceServiceName."""
    NO_TAGS = "no tags"
    """No aws:ResourceTag for the endpoint to delete."""


class AttributeKeys(StrEnum):
    """What condition keys ec2:Attribute/NAME EC2 gives for the endpoint that ModifyVpcEndpoint changes.

    https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html lists ec2:Attribute/${AttributeName}, and
    does not say which attributes a request has.
    """

    CHANGED = "changed"
    """Those that the request changes."""
    NONE = "none"
    EACH = "each"
    """All of them in every request."""


class TableDeny(StrEnum):
    """What a Deny for the principal `*` in the resource policy of a table means for the principals of its account.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html: an explicit Deny in any policy wins.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/rbac-considerations.html has no example of one.
    """

    HOLDS = "holds"
    PASSES_OWN_POLICIES = "passes own policies"
    """It does not concern those whose own policies allow the action."""


class DenyingBusPolicy(StrEnum):
    """What the policy of an event bus means for those whom it does not name, if it has only statements that deny.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-bus-permissions-manage.html has only policies that allow.
    """

    OWN_POLICIES_ALLOW = "own policies allow"
    """Those in the account of the bus whose own policies allow it put events."""
    NOBODY_ALLOWED = "nobody allowed"


class NewHubFindings(StrEnum):
    """What findings the new Security Hub has about the results of AWS Config.

    https://docs.aws.amazon.com/securityhub/latest/userguide/securityhub-internal-providers.html is about Security Hub CSPM: AWS
    Config sends it a finding for each result, with the rule's name as the title. It does not say what the new one gets.
    """

    AS_IN_CSPM = "as in CSPM"
    NONE = "none"
    NAMED_DIFFERENTLY = "named differently"
    """With another title and product name."""


@dataclass
class Answers:
    """The answer of each switch. The type of a field lists the answers, and its default is the sandbox's answer."""

    remediation_trigger: RemediationTrigger = RemediationTrigger.REPORTED_RESULT
    remediation_snapshot: RemediationSnapshot = RemediationSnapshot.CURRENT
    first_sweep: FirstSweep = FirstSweep.AT_CREATION_AND_UPDATE
    updated_rule: UpdatedRule = UpdatedRule.EVERYTHING
    repeated_item: RepeatedItem = RepeatedItem.NULL
    item_order: ItemOrder = ItemOrder.IN_ORDER
    newer_types: NewerTypes = NewerTypes.TRIGGERS
    newer_items: NewerItems = NewerItems.AS_IN_CLOUDFORMATION
    older_result: OlderResult = OlderResult.STAYS
    stored_results: StoredResults = StoredResults.AT_ONCE
    item_state: ItemState = ItemState.TEXT
    aggregator_items: AggregatorItems = AggregatorItems.AT_ONCE
    remediation_on_demand: RemediationOnDemand = RemediationOnDemand.STARTED
    busy_resource: BusyResource = BusyResource.FAILED_ITEM
    raised_error: RaisedError = RaisedError.FAILS_STEP
    later_steps: LaterSteps = LaterSteps.PENDING
    loop_failure: LoopFailure = LoopFailure.GOES_TO_NAMED_STEP
    loop_steps: LoopSteps = LoopSteps.LISTED
    missing_output: MissingOutput = MissingOutput.TEXT
    step_inputs: StepInputs = StepInputs.QUOTED
    unapproved_step: UnapprovedStep = UnapprovedStep.GOES_TO_NAMED_STEP
    rejected_status: RejectedStatus = RejectedStatus.REJECTED
    ipv6_list: Ipv6List = Ipv6List.MANAGED
    regional_nat_table: RegionalNatTable = RegionalNatTable.GATEWAY
    shown_block_mode: ShownBlockMode = ShownBlockMode.AT_ONCE
    used_token: UsedToken = UsedToken.DELETED_ENDPOINT
    table_added_again: TableAddedAgain = TableAddedAgain.NO_CHANGE
    endpoint_keys: EndpointKeys = EndpointKeys.SERVICE_AND_TAGS
    attribute_keys: AttributeKeys = AttributeKeys.CHANGED
    table_deny: TableDeny = TableDeny.HOLDS
    denying_bus_policy: DenyingBusPolicy = DenyingBusPolicy.OWN_POLICIES_ALLOW
    new_hub_findings: NewHubFindings = NewHubFindings.AS_IN_CSPM

    def set(self, switch: str, answer: str) -> None:
        """Give another answer of a switch, by the names that `others` yields. ValueError for an unknown name."""
        known = switches()
        if switch not in known:
            raise ValueError(f"{switch!r} is none of the switches {', '.join(known)}")
        setattr(self, switch, known[switch](answer))

    def reset(self) -> None:
        """Turn every switch back to the sandbox's own answer."""
        for switch, kind in switches().items():
            setattr(self, switch, next(iter(kind)))


_GIVEN = Answers()


def given() -> Answers:
    """Return the answers of the sandbox that runs in this process, of which there is one at most."""
    return _GIVEN


def switches() -> dict[str, type[StrEnum]]:
    """Return the answers of each switch by its name: the members of an enum, the sandbox's own answer first."""
    return get_type_hints(Answers)


def others() -> Iterator[tuple[str, str]]:
    """Yield each switch with each answer that is not the sandbox's own."""
    for switch, kind in switches().items():
        yield from ((switch, str(answer)) for answer in list(kind)[1:])
