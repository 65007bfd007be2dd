"""The executions of one account and Region; a reset of moto's backend removes them."""

from dataclasses import dataclass, field
from threading import RLock

from moto.ssm.exceptions import SSMException
from moto.ssm.models import ssm_backends

from config_rule_sandbox.patching.memory import memory_of
from config_rule_sandbox.ssm.execution import Execution


@dataclass
class Registry:
    """Executions by their ids in the order of their starts, and the client tokens that they were started with."""

    executions: dict[str, Execution] = field(default_factory=dict)
    tokens: dict[str, Execution] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock)


def registry(account_id: str, region: str) -> Registry:
    """Return the registry of one account and Region."""
    return memory_of(ssm_backends[account_id][region], Registry)


def find(account_id: str, region: str, execution_id: str) -> Execution:
    """Return an execution by its id. AutomationExecutionNotFoundException if there is none."""
    found = registry(account_id, region).executions.get(execution_id)
    if found is None:
        raise SSMException(
            "AutomationExecutionNotFoundException", f"Automation execution not found with ID: {execution_id}"
        )
    return found


def keep(execution: Execution, token: str | None) -> Execution:
    """Store a new execution and return it; or the one that was started with this client token before.

    IdempotentParameterMismatch if that one was another runbook, or had other parameters.
    """
    known = registry(execution.account_id, execution.region)
    with known.lock:
        before = known.tokens.get(token or "")
        if before is None:
            known.executions[execution.id] = execution
            if token:
                known.tokens[token] = execution
            return execution
    if (before.document_name, before.given) != (execution.document_name, execution.given):
        raise SSMException("IdempotentParameterMismatch", f"The token {token} was used with other parameters.")
    return before
