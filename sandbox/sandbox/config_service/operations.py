"""The operations of AWS Config's API that the sandbox adds to moto's response class or corrects."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from moto.config.models import ConfigBackend, ConfigRule
from moto.config.responses import ConfigResponse

from sandbox.config_service import aggregation, evaluations, recorder, rules
from sandbox.config_service.results import ConfigResults, results_of
from sandbox.patches import Patches

Parameters = dict[str, Any]
Operation = Callable[[ConfigBackend, ConfigResults, Parameters], dict[str, Any] | None]


def apply(patches: Patches) -> None:
    """Let moto answer Config's evaluation, compliance and history calls until `patches` are undone."""
    for name, operation in ADDED.items():
        patches.set(ConfigResponse, name, _method(operation))
    for name, operation in CHECKED_FIRST.items():
        patches.wrap(ConfigResponse, name, partial(_checked, operation))
    patches.wrap(ConfigResponse, "describe_config_rules", _with_evaluation_modes)
    patches.wrap(ConfigResponse, "get_resource_config_history", _history_or_moto)
    patches.set(ConfigRule, "MAX_RULES", rules.MAXIMUM_RULES)
    rules.apply(patches)
    recorder.apply(patches)
    aggregation.apply(patches)


def _put_evaluations(backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    return evaluations.put_evaluations(
        backend,
        results,
        parameters.get("Evaluations") or [],
        parameters.get("ResultToken") or "",
        test_mode=bool(parameters.get("TestMode")),
    )


def _delete_results(backend: ConfigBackend, results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    rules.delete_results(backend, results, parameters.get("ConfigRuleName") or "")
    return {}


def _check_new_rule(backend: ConfigBackend, _results: ConfigResults, parameters: Parameters) -> None:
    rules.check_new_rule(backend, parameters.get("ConfigRule") or {})


ADDED: dict[str, Operation] = {
    "put_evaluations": _put_evaluations,
    "get_compliance_details_by_config_rule": evaluations.details_by_rule,
    "get_compliance_details_by_resource": evaluations.details_by_resource,
}
"""Operations by the name of moto's method; each takes the parsed request and returns the answer."""

CHECKED_FIRST: dict[str, Operation] = {"put_config_rule": _check_new_rule, "delete_config_rule": _delete_results}
"""What happens before moto's own method runs."""


def _method(operation: Operation) -> Callable[[ConfigResponse], str]:
    """Return a method of the response class that answers with what `operation` returns."""

    def answer(self: ConfigResponse) -> str:
        return json.dumps(operation(self.config_backend, _memory(self), _parameters(self)))

    return answer


def _checked(operation: Operation, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that runs `operation` and then moto's own."""

    def answer(self: ConfigResponse) -> object:
        operation(self.config_backend, _memory(self), _parameters(self))
        return original(self)

    return answer


def _with_evaluation_modes(original: Callable[..., Any]) -> Callable[..., Any]:
    def answer(self: ConfigResponse) -> str:
        return json.dumps(rules.with_evaluation_modes(json.loads(original(self))))

    return answer


def _history_or_moto(original: Callable[..., Any]) -> Callable[..., Any]:
    """Answer from the recorded items, or let moto do so for a resource that the sandbox's recorder never saw."""

    def answer(self: ConfigResponse) -> object:
        found = evaluations.config_history(self.config_backend, _memory(self), _parameters(self))
        return original(self) if found is None else json.dumps(found)

    return answer


def _memory(response: ConfigResponse) -> ConfigResults:
    return results_of(response.current_account, response.region)


def _parameters(response: ConfigResponse) -> Parameters:
    parameters: Parameters = json.loads(response.body or "{}")
    return parameters
