"""PutEvaluations by Config's own rules, of which moto has only the TestMode."""

import time
from typing import Any

from moto.config.exceptions import (
    InvalidParameterValueException,
    InvalidResultTokenException,
)
from moto.config.models import ConfigBackend

from config_rule_sandbox.config import checks
from config_rule_sandbox.config.compliance import INSUFFICIENT, Parameters
from config_rule_sandbox.config.results import ConfigResults, Result, Token


def put_evaluations(backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Store evaluations; return those that failed. If one of them is malformed, all are refused.

    https://docs.aws.amazon.com/config/latest/APIReference/API_PutEvaluations.html. An empty list is accepted: it says
    that the rule has nothing to report. TestMode checks a call, stores nothing, and accepts any non-empty token. A rule
    cannot report INSUFFICIENT_DATA, although the enum has it:
    https://docs.aws.amazon.com/config/latest/APIReference/API_Evaluation.html.
    """
    token, evaluations = parameters["ResultToken"], parameters.get("Evaluations") or []
    if not token:
        raise InvalidResultTokenException
    if any(evaluation["ComplianceType"] == INSUFFICIENT for evaluation in evaluations):
        raise InvalidParameterValueException(f"{INSUFFICIENT} is not accepted as ComplianceType of an evaluation.")
    if parameters.get("TestMode"):
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
