"""What AWS Config remembers in one account and Region: results, result tokens, configuration items."""

import time
import uuid
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import RLock
from typing import Any

from moto.config.models import config_backends

from config_rule_sandbox.answers import OlderResult, StoredResults, given
from config_rule_sandbox.config.items.items import timestamp
from config_rule_sandbox.patching.memory import memory_of

ResourceKey = tuple[str, str]
"""Resource type and resource id."""
LAG_SECONDS = 60 * 60
"""How long what is recorded cannot be read, where AWS Config shows it later."""


@dataclass(frozen=True, slots=True)
class Result:
    """One stored evaluation result. Times are seconds since 1970; `annotation` is None or 1 to 256 characters.

    `ordering` is the time of the event that triggered the evaluation, `invoked` when the rule was invoked for it,
    `recorded` when Config took the result in.
    """

    rule_name: str
    resource: ResourceKey
    compliance: str
    ordering: float
    invoked: float
    recorded: float
    annotation: str | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A result token: it names the rule that was invoked with it, and when that was (seconds since 1970)."""

    rule_name: str
    issued: float


@dataclass
class ConfigResults:
    """What AWS Config stores, and the knobs for tests.

    `history` has the items of each resource, oldest first, in the shape of rule events. `rejected` holds the ids of
    resources whose evaluations PutEvaluations returns in FailedEvaluations. `requested` holds the names of rules whose
    evaluation was asked for and has not ended.
    """

    results: dict[tuple[str, ResourceKey], Result] = field(default_factory=dict)
    history: dict[ResourceKey, list[dict[str, Any]]] = field(default_factory=dict)
    rejected: set[str] = field(default_factory=set)
    requested: set[str] = field(default_factory=set)
    lock: RLock = field(default_factory=RLock)
    _tokens: dict[str, Token] = field(default_factory=dict)
    _changed: dict[tuple[str, ResourceKey], float] = field(default_factory=dict)
    _earlier: dict[tuple[str, ResourceKey], list[Result]] = field(default_factory=dict)

    def issue_token(self, rule_name: str) -> str:
        """Return a new result token of one rule."""
        value = uuid.uuid4().hex
        self._tokens[value] = Token(rule_name, time.time())
        return value

    def token(self, value: str) -> Token | None:
        """Return what a result token stands for, or None if it was never issued or has expired."""
        return self._tokens.get(value)

    def last_invoked(self, rule_name: str) -> float | None:
        """Return when a rule was last invoked (seconds since 1970), None if it never was."""
        return max((token.issued for token in self._tokens.values() if token.rule_name == rule_name), default=None)

    def expire_tokens(self) -> None:
        """Make every token that was issued so far expire."""
        self._tokens.clear()

    def record(self, item: dict[str, Any]) -> None:
        """Add a configuration item (shape of rule events) to the history of its resource."""
        self.history.setdefault((item["resourceType"], item["resourceId"]), []).append(item)

    def store(self, result: Result) -> None:
        """Store a result. The answer `older_result` says whether it replaces one of a newer event."""
        key = (result.rule_name, result.resource)
        with self.lock:
            known = self.results.get(key)
            replaces = known is None or known.ordering <= result.ordering
            if replaces or given().older_result is OlderResult.IS_REPLACED:
                self.results[key] = result
                self._earlier.setdefault(key, []).append(result)
                if known is None or known.compliance != result.compliance:
                    self._changed[key] = result.recorded

    def changed(self, result: Result) -> float:
        """Return when Config took in the first result of a resource with its present compliance (seconds since 1970)."""
        return self._changed.get((result.rule_name, result.resource), result.recorded)

    def shown(self) -> list[Result]:
        """Return the results that can be read now, as the answer `stored_results` has it."""
        with self.lock:
            if given().stored_results is StoredResults.AT_ONCE:
                return list(self.results.values())
            latest = time.time() - LAG_SECONDS
            earlier = [[r for r in results if r.recorded <= latest] for results in self._earlier.values()]
            return [results[-1] for results in earlier if results]

    def of_rule(self, rule_name: str) -> list[Result]:
        """Return the results of one rule, sorted by resource."""
        return sorted((r for r in self._snapshot() if r.rule_name == rule_name), key=lambda r: r.resource)

    def forget_rule(self, rule_name: str) -> None:
        """Drop every result of one rule, and the request to evaluate it."""
        self.requested.discard(rule_name)
        with self.lock:
            for key in [key for key in self.results if key[0] == rule_name]:
                del self.results[key]
                self._earlier.pop(key, None)

    def grow_older(self, age: timedelta) -> None:
        """Let every result and every item be older."""
        with self.lock:
            for items in self.history.values():
                for item in items:
                    captured = datetime.fromisoformat(item["configurationItemCaptureTime"]) - age
                    item["configurationItemCaptureTime"] = timestamp(captured)
            self.results = {key: _older(result, age) for key, result in self.results.items()}
            self._earlier = {key: [_older(result, age) for result in results] for key, results in self._earlier.items()}
            self._changed = {key: moment - age.total_seconds() for key, moment in self._changed.items()}

    def clean_up(self) -> None:
        """Drop NOT_APPLICABLE results, as Config does some time after they were put.

        https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config.html: they are marked for deletion
        and cleaned up.
        """
        with self.lock:
            for key in [key for key, result in self.results.items() if result.compliance == "NOT_APPLICABLE"]:
                del self.results[key]

    def _snapshot(self) -> list[Result]:
        with self.lock:
            return list(self.results.values())


def _older(result: Result, age: timedelta) -> Result:
    seconds = age.total_seconds()
    return replace(
        result,
        ordering=result.ordering - seconds,
        invoked=result.invoked - seconds,
        recorded=result.recorded - seconds,
    )


def results_of(account_id: str, region: str) -> ConfigResults:
    """Return what Config stores in one account and Region. A reset of moto's backend removes it."""
    return memory_of(config_backends[account_id][region], ConfigResults)
