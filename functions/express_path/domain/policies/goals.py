"""What a search looks for: values for which a policy says one thing on one path, and another on the other."""

from collections.abc import Iterable
from itertools import chain

from express_path.domain.policies.conditions import holds
from express_path.domain.policies.documents import Condition, Element, Statement, account_of
from express_path.domain.policies.keys import PRINCIPAL, RESOURCE, Answer, RequestPath, UnknownValue
from express_path.domain.policies.patterns import is_like
from express_path.domain.policies.values import PolicyQuestion, Values

_STEPS_OF_CONDITION = 4


class Goals:
    """The goals of searches. Each is reached, or not, or a value is missing to tell."""

    def __init__(self, question: PolicyQuestion, values: Values) -> None:
        """Judge by these values."""
        self._request = question.request
        self._effort = question.effort
        self._computed = question.computed
        self._values = values

    def newly_denies(self, statement: Statement) -> Answer:
        """Whether a Deny statement applies on the endpoint path, and none did on the NAT path."""
        return _all([self.applies(statement, RequestPath.ENDPOINT), self.none_applies(RequestPath.NAT, is_deny=True)])

    def no_longer_allows(self, statement: Statement) -> Answer:
        """Whether an Allow statement applied on the NAT path, and none does on the endpoint path."""
        allowed = [self.applies(statement, RequestPath.NAT), self.none_applies(RequestPath.NAT, is_deny=True)]
        return _all([*allowed, self.none_applies(RequestPath.ENDPOINT, is_deny=False)])

    def allows(self, statement: Statement) -> Answer:
        """Whether an Allow statement applies on the endpoint path, and no Deny statement does."""
        return _all(
            [self.applies(statement, RequestPath.ENDPOINT), self.none_applies(RequestPath.ENDPOINT, is_deny=True)]
        )

    def none_applies(self, path: RequestPath, *, is_deny: bool) -> Answer:
        """Whether no Deny statement, or no Allow statement, applies on a path."""
        return _all(
            _not(self.applies(statement, path))
            for statement in self._request.statements
            if statement.is_deny is is_deny
        )

    def applies(self, statement: Statement, path: RequestPath) -> Answer:
        """Whether a statement applies on a path."""
        self._effort.spend(2)
        return _all(
            chain(
                [self._covers_principal(statement.principal), self._covers_resource(statement.resource, path)],
                (self._holds(condition, path) for condition in statement.conditions),
            )
        )

    def _covers_principal(self, element: Element) -> Answer:
        if "*" in element.patterns:
            return not element.is_negated
        principal = self._values.of(PRINCIPAL)
        if isinstance(principal, UnknownValue):
            return principal
        self._effort.spend(len(element.patterns))
        return any(_is_principal(principal[0], pattern) for pattern in element.patterns) is not element.is_negated

    def _covers_resource(self, element: Element, path: RequestPath) -> Answer:
        if "*" in element.patterns:
            return not element.is_negated
        patterns = self._values.replaced(element.patterns, path)
        if isinstance(patterns, UnknownValue):
            return patterns
        resource = self._values.of(RESOURCE)
        if isinstance(resource, UnknownValue):
            return resource
        self._effort.match(resource, patterns)
        return any(is_like(resource[0], pattern) for pattern in patterns) is not element.is_negated

    def _holds(self, condition: Condition, path: RequestPath) -> Answer:
        self._effort.spend(_STEPS_OF_CONDITION)
        value = self._values.of_key(condition.key.lower(), path)
        if isinstance(value, UnknownValue):
            return value
        allowed = self._values.replaced(condition.values, path)
        if isinstance(allowed, UnknownValue):
            return allowed
        compared = (condition, value, allowed)
        self._effort.spend(1 + len(allowed) // 16)
        if compared not in self._computed:
            self._computed[compared] = holds(condition, value, allowed, self._effort)
        return bool(self._computed[compared])


def _is_principal(value: str, pattern: str) -> bool:
    """Return whether a Principal names a principal: itself, or its whole account."""
    account = account_of(pattern)
    return value == pattern or (account != "" and value.split(":")[4:5] == [account])


def _all(answers: Iterable[Answer]) -> Answer:
    """Return whether all are true: false if any is false, whatever is missing."""
    missing: Answer = True
    for answer in answers:
        if answer is False:
            return False
        if missing is True:
            missing = answer
    return missing


def _not(answer: Answer) -> Answer:
    return not answer if isinstance(answer, bool) else answer
