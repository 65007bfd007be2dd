"""Evaluations: PutEvaluations, and the calls that read compliance and history."""

import json
import time
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from moto.config.exceptions import (
    InvalidParameterValueException,
    InvalidResultTokenException,
    NoAvailableConfigurationRecorderException,
)
from moto.config.models import ConfigBackend

from config_rule_sandbox.config_service import checks
from config_rule_sandbox.config_service.results import ConfigResults, Result, Token

# --- history -------------------------------------------------------------------------------------------------------
#
# GetResourceConfigHistory: the recorded configuration items, in the API's shape.


DEFAULT_LIMIT = 10
"""Items or results of a page where the limit is 0 or missing (botocore model)."""

RENAMED = {
    "configurationItemVersion": "version",
    "awsAccountId": "accountId",
    "ARN": "arn",
    "configurationStateMd5Hash": "configurationItemMD5Hash",
}
"""Names in rule events and in the API.

https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules.html, "Format differences".
"""

TIMES = ("configurationItemCaptureTime", "resourceCreationTime")


def config_history(backend: ConfigBackend, results: ConfigResults, parameters: dict[str, Any]) -> dict[str, Any] | None:
    """Return a page of the items of one resource, newest first; None if the recorder has never seen it.

    laterTime (seconds since 1970) is the latest capture time.
    """
    if not backend.recorders:
        raise NoAvailableConfigurationRecorderException
    items = results.history.get((parameters["resourceType"], parameters["resourceId"]))
    if items is None:
        return None
    later = float(parameters.get("laterTime", "inf"))
    captured = [item for item in items if epoch(item["configurationItemCaptureTime"]) <= later]
    chosen = sorted(captured, key=lambda item: str(item["configurationItemCaptureTime"]), reverse=True)
    rows, token = checks.page(chosen, parameters.get("nextToken"), parameters.get("limit") or DEFAULT_LIMIT)
    answer: dict[str, Any] = {"configurationItems": [api_shape(item) for item in rows]}
    return answer | ({"nextToken": token} if token else {})


def api_shape(item: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration item of a rule event as the API gives it: `configuration` is a string there."""
    shaped = {RENAMED.get(name, name): value for name, value in item.items() if value is not None}
    shaped["configurationStateId"] = str(item["configurationStateId"])
    shaped["relationships"] = [_api_relationship(relationship) for relationship in item["relationships"]]
    shaped["supplementaryConfiguration"] = {k: json.dumps(v) for k, v in item["supplementaryConfiguration"].items()}
    if item["configuration"] is not None:
        shaped["configuration"] = json.dumps(item["configuration"])
    for name in TIMES:
        if item.get(name):
            shaped[name] = epoch(item[name])
    return shaped


def epoch(moment: str) -> float:
    """Return a time of a configuration item ("2026-02-13T05:48:51.341Z") as seconds since 1970."""
    return datetime.fromisoformat(moment).timestamp()


def _api_relationship(relationship: dict[str, Any]) -> dict[str, Any]:
    named = {("relationshipName" if key == "name" else key): value for key, value in relationship.items()}
    return {key: value for key, value in named.items() if value is not None}


# --- compliance ----------------------------------------------------------------------------------------------------
#
# GetComplianceDetailsByConfigRule and GetComplianceDetailsByResource: the results of a rule, and of a resource.


Parameters = dict[str, Any]
INSUFFICIENT = "INSUFFICIENT_DATA"


def details_by_rule(backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer GetComplianceDetailsByConfigRule."""
    name = parameters["ConfigRuleName"]
    checks.rule(backend, name)
    chosen = _chosen(results.of_rule(name), parameters)
    rows, token = checks.page(chosen, parameters.get("NextToken"), parameters.get("Limit") or DEFAULT_LIMIT)
    answer: dict[str, Any] = {"EvaluationResults": [_as_detail(result) for result in rows]}
    return answer | ({"NextToken": token} if token else {})


def details_by_resource(_backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer GetComplianceDetailsByResource: the results of all rules for one resource, in pages of ten.

    https://docs.aws.amazon.com/config/latest/APIReference/API_GetComplianceDetailsByResource.html
    """
    resource = (parameters.get("ResourceType", ""), parameters.get("ResourceId", ""))
    chosen = _chosen(results.of_resource(resource), parameters)
    rows, token = checks.page(chosen, parameters.get("NextToken"), DEFAULT_LIMIT)
    answer: dict[str, Any] = {"EvaluationResults": [_as_detail(result) for result in rows]}
    return answer | ({"NextToken": token} if token else {})


def _chosen(found: Iterable[Result], parameters: Parameters) -> list[Result]:
    """Return the results of the types that are asked for, of which INSUFFICIENT_DATA cannot be one.

    https://docs.aws.amazon.com/config/latest/APIReference/API_GetComplianceDetailsByConfigRule.html
    """
    wanted = parameters.get("ComplianceTypes") or []
    if INSUFFICIENT in wanted:
        raise InvalidParameterValueException(f"The compliance type {INSUFFICIENT} is not supported by this operation.")
    return [result for result in found if not wanted or result.compliance in wanted]


def _as_detail(result: Result) -> dict[str, Any]:
    """Return a result as the API's EvaluationResult (botocore model)."""
    qualifier = {
        "ConfigRuleName": result.rule_name,
        "ResourceType": result.resource[0],
        "ResourceId": result.resource[1],
        "EvaluationMode": "DETECTIVE",
    }
    return {
        "EvaluationResultIdentifier": {
            "EvaluationResultQualifier": qualifier,
            "OrderingTimestamp": result.ordering,
        },
        "ComplianceType": result.compliance,
        "ResultRecordedTime": result.recorded,
        "ConfigRuleInvokedTime": result.invoked,
        **({"Annotation": result.annotation} if result.annotation else {}),
    }


# --- PutEvaluations ------------------------------------------------------------------------------------------------
#
# PutEvaluations by Config's own rules, of which moto has only the TestMode.


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
