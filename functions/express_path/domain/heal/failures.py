"""Why a run failed: its failed steps, and how to fix what went wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from express_path.domain.heal.preflight import ENDPOINT_QUOTA, ROUTE_QUOTA
from express_path.domain.heal.records import Concern

_LOST_RACE = "ConditionalCheckFailedException"
"""The error of a write to the ledger whose condition is not met, because another run wrote first."""
_MAY_LOSE = frozenset({"markFailed", "recordFailed", "release"})
"""The steps that may lose a race: the run releases a claim or a request that it does not have."""
_APPROVE = "approve"
"""The step that asks the approvers."""
_NOT_REJECTED = "Systems Manager shows no rejection, and nothing was changed: the next run sends a new request"
_THROTTLED = "AWS throttled the call: start the run again later"
_DENIED = (
    "allow the call in the role that made it (stack outputs AutomationRoleArn and PlanRoleArn), and check the "
    "permissions boundary, service control policies, and the policy of the resource"
)
_FIXES = {
    "VpcEndpointLimitExceeded": f"request an increase of quota {ENDPOINT_QUOTA.code}",
    "RouteLimitExceeded": f"request an increase of quota {ROUTE_QUOTA.code}, or remove routes",
    "RouteAlreadyExists": "another route of the table has the destination of the endpoint's route: remove it, or "
    "disassociate the endpoint that added it",
    "InvalidVpcEndpointId.NotFound": "somebody deleted the endpoint: start the run again",
    "InvalidRouteTableID.NotFound": "somebody deleted the route table: start the run again for its subnets",
    **dict.fromkeys(
        ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError", "KMSAccessDenied"),
        _DENIED,
    ),
    **dict.fromkeys(
        (
            *("RequestLimitExceeded", "Throttling", "ThrottlingException", "ThrottledException", "SlowDown"),
            *("TooManyRequestsException", "ProvisionedThroughputExceededException"),
        ),
        _THROTTLED,
    ),
}
"""How to fix an error of AWS, by its code
(https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html,
https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-limits-endpoints.html,
https://docs.aws.amazon.com/sns/latest/api/API_Publish.html)."""


@dataclass(frozen=True, slots=True)
class StepFailure:
    """Why a step failed. Programs read the step, the code, the resource, and the blockers, and people read the rest.

    code: that of the plan function's error, or AWS's; empty if there is none. fix: what to do, empty if that is not known.
    A blocked heal also has its blockers, its warnings, and the patches to apply by hand, by tool.
    """

    step: str
    code: str
    resource: str
    evidence: str
    fix: str = ""
    blockers: tuple[Concern, ...] = ()
    warnings: tuple[Concern, ...] = ()
    patches: Mapping[str, str] = field(default_factory=dict)


def causes(failures: Sequence[StepFailure]) -> list[StepFailure]:
    """Return what explains the failure of a run, each failure with what to do if that is known, in the same order.

    A race that was lost on the way out explains nothing, unless nothing else failed.
    """
    relevant = [failure for failure in failures if failure.step not in _MAY_LOSE or failure.code != _LOST_RACE]
    return [replace(failure, fix=failure.fix or _fix(failure)) for failure in relevant or failures]


def _fix(failure: StepFailure) -> str:
    if failure.step == _APPROVE:
        return _NOT_REJECTED
    return _FIXES.get(failure.code, "")
