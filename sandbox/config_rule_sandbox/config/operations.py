"""The operations of AWS Config's API that the sandbox adds to moto's response class or corrects."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from botocore import xform_name
from moto.config.models import ConfigBackend, ConfigRule
from moto.config.responses import ConfigResponse

from config_rule_sandbox.config import (
    aggregated_items,
    aggregation,
    checks,
    compliance,
    evaluations,
    history,
    recorder_settings,
    rule_statuses,
    rules,
)
from config_rule_sandbox.config.results import ConfigResults, results_of
from config_rule_sandbox.patching.patches import Patches

Operation = Callable[[ConfigBackend, ConfigResults, dict[str, Any]], dict[str, Any] | None]


def apply(patches: Patches) -> None:
    """Let moto answer Config's evaluation, compliance and history calls until `patches` are undone."""
    for name, operation in ADDED.items():
        patches.set(ConfigResponse, xform_name(name), _method(name, operation))
    for name, operation in CHECKED_FIRST.items():
        patches.wrap(ConfigResponse, xform_name(name), partial(_checked, name, operation))
    patches.wrap(ConfigResponse, "describe_config_rules", _with_evaluation_modes)
    patches.wrap(ConfigResponse, "get_resource_config_history", _history_or_moto)
    patches.set(ConfigRule, "MAX_RULES", rules.MAXIMUM_RULES)
    rule_statuses.apply(patches)
    recorder_settings.apply(patches)
    aggregation.apply(patches)
    aggregated_items.apply(patches)


ADDED: dict[str, Operation] = {
    "PutEvaluations": evaluations.put_evaluations,
    "GetComplianceDetailsByConfigRule": compliance.details_by_rule,
    "GetComplianceDetailsByResource": compliance.details_by_resource,
    "StartConfigRulesEvaluation": rules.request_evaluation,
}
"""What answers each operation; it gets the checked request."""

CHECKED_FIRST: dict[str, Callable[[ConfigBackend, ConfigResults, dict[str, Any]], None]] = {
    "PutConfigRule": rules.check_new_rule,
    "DeleteConfigRule": rules.delete_results,
}
"""What happens before moto's own method runs."""


def _method(name: str, operation: Operation) -> Callable[[ConfigResponse], str]:
    """Return a method of the response class that answers with what `operation` returns."""

    def answer(self: ConfigResponse) -> str:
        return json.dumps(operation(self.config_backend, _memory(self), checks.parameters(self, name)))

    return answer


def _checked(name: str, operation: Callable[..., None], original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that runs `operation` and then moto's own."""

    def answer(self: ConfigResponse) -> object:
        operation(self.config_backend, _memory(self), checks.parameters(self, name))
        return original(self)

    return answer


def _with_evaluation_modes(original: Callable[..., Any]) -> Callable[..., Any]:
    def answer(self: ConfigResponse) -> str:
        return json.dumps(rules.with_evaluation_modes(json.loads(original(self))))

    return answer


def _history_or_moto(original: Callable[..., Any]) -> Callable[..., Any]:
    """Answer from the recorded items, or let moto do so for a resource that the sandbox's recorder never saw."""

    def answer(self: ConfigResponse) -> object:
        asked = checks.parameters(self, "GetResourceConfigHistory")
        found = history.config_history(self.config_backend, _memory(self), asked)
        return original(self) if found is None else json.dumps(found)

    return answer


def _memory(response: ConfigResponse) -> ConfigResults:
    return results_of(response.current_account, response.region)
