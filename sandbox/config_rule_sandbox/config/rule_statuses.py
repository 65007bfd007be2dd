"""DescribeConfigRuleEvaluationStatus: when rules were invoked and when they reported results."""

import json
import time
from collections.abc import Callable
from typing import Any

from moto.config.models import ConfigBackend, config_backends
from moto.config.responses import ConfigResponse

from config_rule_sandbox.config import checks
from config_rule_sandbox.config.results import ConfigResults, results_of
from config_rule_sandbox.patching.memory import memory_of
from config_rule_sandbox.patching.patches import Patches

Status = dict[str, Any]


class Statuses:
    """What a test may set for a rule: members of the answer that replace the computed ones, or that there is no row.

    Times are seconds since 1970. The reference says that there is no status of custom Lambda rules
    (https://docs.aws.amazon.com/config/latest/APIReference/API_ConfigRuleEvaluationStatus.html), yet recorded answers
    have one; `silent` holds the rules that AWS Config returns no status for.
    """

    def __init__(self) -> None:
        """Nothing is set."""
        self.activated: dict[str, float] = {}
        self.told: dict[str, Status] = {}
        self.silent: set[str] = set()


def statuses_of(account_id: str, region: str) -> Statuses:
    """Return the settings of one account and Region; they live and die with moto's backend, reset included."""
    return memory_of(config_backends[account_id][region], Statuses)


def apply(patches: Patches) -> None:
    """Let moto answer DescribeConfigRuleEvaluationStatus until `patches` are undone."""
    patches.wrap(ConfigResponse, "put_config_rule", _activating)
    patches.set(ConfigResponse, "describe_config_rule_evaluation_status", _answer)


def _activating(original: Callable[..., str]) -> Callable[..., str]:
    def answer(self: ConfigResponse) -> str:
        answered = original(self)
        name = json.loads(self.body)["ConfigRule"]["ConfigRuleName"]
        memory_of(self.config_backend, Statuses).activated.setdefault(name, time.time())
        return answered

    return answer


def _answer(self: ConfigResponse) -> str:
    asked = checks.parameters(self, "DescribeConfigRuleEvaluationStatus")
    backend, results = self.config_backend, results_of(self.current_account, self.region)
    names = asked.get("ConfigRuleNames") or sorted(backend.config_rules)
    rows = [_status(backend, results, name) for name in names if name not in memory_of(backend, Statuses).silent]
    page, token = checks.page(rows, asked.get("NextToken"), asked.get("Limit") or len(rows) or 1)
    return json.dumps({"ConfigRulesEvaluationStatus": list(page)} | ({"NextToken": token} if token else {}))


def _status(backend: ConfigBackend, results: ConfigResults, name: str) -> Status:
    """Return one row: invoked when a result token was issued last, evaluated when a result was taken in last."""
    rule = checks.rule(backend, name)
    statuses = memory_of(backend, Statuses)
    row: Status = {
        "ConfigRuleName": name,
        "ConfigRuleArn": rule.config_rule_arn,
        "ConfigRuleId": rule.config_rule_id,
        "FirstActivatedTime": statuses.activated.get(name),
        "LastSuccessfulInvocationTime": results.last_invoked(name),
        "LastSuccessfulEvaluationTime": max((result.recorded for result in results.of_rule(name)), default=None),
    }
    row = {key: value for key, value in row.items() if value is not None}
    row["FirstEvaluationStarted"] = "LastSuccessfulInvocationTime" in row
    return row | statuses.told.get(name, {})
