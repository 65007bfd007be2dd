"""PutEvaluations by Config's own rules, of which moto has only the TestMode."""

import time
from typing import Any

from moto.config.exceptions import InvalidParameterValueException, InvalidResultTokenException, ValidationException
from moto.config.models import ConfigBackend

from sandbox.config_service import checks
from sandbox.config_service.results import ConfigResults, Result, Token

MAXIMUM_EVALUATIONS = 100
"""Of one call (botocore model, Evaluations)."""

REQUIRED = ("ComplianceResourceType", "ComplianceResourceId", "ComplianceType", "OrderingTimestamp")
"""Members that every evaluation has (botocore model, Evaluation)."""


def put_evaluations(
    backend: ConfigBackend, results: ConfigResults, evaluations: list[dict[str, Any]], token: str, *, test_mode: bool
) -> dict[str, Any]:
    """Check and store evaluations; return those that failed. If one of them is malformed, all are refused.

    https://docs.aws.amazon.com/config/latest/APIReference/API_PutEvaluations.html. An empty list is accepted: it says
    that the rule has nothing to report. TestMode checks a call, stores nothing, and accepts any non-empty token.
    """
    if not token:
        raise InvalidResultTokenException
    checks.length(evaluations, "evaluations", MAXIMUM_EVALUATIONS)
    for evaluation in evaluations:
        _check(evaluation)
    if test_mode:
        return {"FailedEvaluations": []}
    issued = results.token(token)
    if issued is None:
        raise InvalidResultTokenException
    checks.rule(backend, issued.rule_name)
    return {"FailedEvaluations": [e for e in evaluations if not _store(results, issued, e)]}


def _store(results: ConfigResults, token: Token, evaluation: dict[str, Any]) -> bool:
    """Store one evaluation; False if a test asked for its failure."""
    if evaluation["ComplianceResourceId"] in results.rejected:
        return False
    results.store(
        Result(
            token.rule_name,
            (evaluation["ComplianceResourceType"], evaluation["ComplianceResourceId"]),
            evaluation["ComplianceType"],
            ordering=float(evaluation["OrderingTimestamp"]),
            invoked=token.issued,
            recorded=time.time(),
            annotation=evaluation.get("Annotation"),
        )
    )
    return True


def _check(evaluation: dict[str, Any]) -> None:
    """Raise ValidationException or InvalidParameterValueException for a malformed evaluation.

    https://docs.aws.amazon.com/config/latest/APIReference/API_Evaluation.html has the lengths, and says that
    INSUFFICIENT_DATA is not accepted although the enum has it.
    """
    for name in REQUIRED:
        if evaluation.get(name) is None:
            raise ValidationException(f"1 validation error detected: Value null at 'evaluations.{name}'")
    checks.length(evaluation["ComplianceResourceType"], "evaluations.complianceResourceType", 256, 1)
    checks.length(evaluation["ComplianceResourceId"], "evaluations.complianceResourceId", 768, 1)
    checks.compliance_type(evaluation["ComplianceType"], "evaluations.complianceType")
    if evaluation["ComplianceType"] == "INSUFFICIENT_DATA":
        raise InvalidParameterValueException("INSUFFICIENT_DATA is not accepted as ComplianceType of an evaluation.")
    if evaluation.get("Annotation") is not None:
        checks.length(evaluation["Annotation"], "evaluations.annotation", 256, 1)
