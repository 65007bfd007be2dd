"""Why a run failed: its failed steps, AWS's errors, and how to fix them."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from express_path.domain.heal.preflight import ENDPOINT_QUOTA, ROUTE_QUOTA

_LOST_RACE = "ConditionalCheckFailedException"
"""The error of a write to the ledger whose condition is not met, because another run wrote first."""
_MAY_LOSE = frozenset({"markFailed", "recordFailed", "release"})
"""The steps that may lose a race: the run releases a claim or a request that it does not have."""
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
_NOBODY_ANSWERED = "nobody rejected the heal, and nothing was changed: the next run sends a new request"
_CODE = re.compile(r"\((\w[\w.]*)\) when calling|failed with (\w[\w.]*)")
"""Where boto3's errors, and those of the plan function, have AWS's error code."""
_FRAME = re.compile(
    r"^Step fails when it is .*?\. |\.? Please refer to Automation Service Troubleshooting Guide .*$", re.DOTALL
)
"""What Automation writes around the error of a step (as people have reported it). Other texts stay as they are."""


@dataclass(frozen=True, slots=True)
class FailedStep:
    """A step that failed, and the failure message that Automation shows."""

    name: str
    message: str


def explain_failure(run_id: str, steps: Sequence[FailedStep]) -> str:
    """Return why a run failed, the last failed step first; steps are the failed ones in the order of their ends."""
    if not steps:
        return f"run {run_id} failed: its steps say why (aws ssm get-automation-execution)"
    relevant = [step for step in steps if step.name not in _MAY_LOSE or _LOST_RACE not in step.message]
    sentences = [f"step {step.name} failed: {_error(step.message)}" for step in reversed(relevant or steps)]
    codes = [next(filter(None, match.groups())) for sentence in sentences for match in _CODE.finditer(sentence)]
    fixes = list(dict.fromkeys(_FIXES[code] for code in codes if code in _FIXES))
    if any(step.name == "approve" for step in steps):
        fixes.append(_NOBODY_ANSWERED)
    return " | ".join(["; before that, ".join(sentences), *(f"fix: {fix}" for fix in fixes)])


def _error(message: str) -> str:
    """Return what a step's failure message says: what the plan function raised, or else what AWS answered.

    The message of a script is a traceback, whose last line is the exception.
    """
    text = _FRAME.sub("", message).strip()
    text = text.splitlines()[-1] if text.startswith("Traceback (most recent call last)") else text
    start = text.find("{")
    try:
        found, _ = json.JSONDecoder().raw_decode(text[start:]) if start >= 0 else ({}, 0)
    except ValueError:
        return text
    if not isinstance(found, dict) or not isinstance(found.get("errorMessage"), str):
        return text
    return f"{found.get('errorType', 'Error')}: {found['errorMessage']}"
