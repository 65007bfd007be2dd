"""A search for values of what is not known for which a policy changes what it says about a request."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from express_path.domain.policies.candidates import Candidates
from express_path.domain.policies.documents import PolicyDocument, Statement
from express_path.domain.policies.effort import Effort
from express_path.domain.policies.goals import Goals
from express_path.domain.policies.keys import Answer, KnownContext, RequestPath
from express_path.domain.policies.requests import requests_of
from express_path.domain.policies.values import PolicyQuestion, Values
from express_path.errors import PolicyError

_MOST_KEYS = 200


class Search:
    """A search about one question. After a search that found something, `values` are those that show it."""

    def __init__(self, question: PolicyQuestion) -> None:
        """Search nothing yet."""
        self.question = question
        self.values = Values(question)
        self._goals = Goals(question, self.values)
        self._candidates = Candidates(question, self.values)

    def finds_what_is_lost(self, statement: Statement) -> bool:
        """Return whether a Deny statement newly denies a request, or an Allow statement no longer allows one."""
        goal = self._goals.newly_denies if statement.is_deny else self._goals.no_longer_allows
        return self._is_asked_about(statement) and self._search(partial(goal, statement))

    def finds_what_is_not_allowed(self) -> bool:
        """Return whether no Allow statement applies to a request on the endpoint path."""
        return self._search(partial(self._goals.none_applies, RequestPath.ENDPOINT, is_deny=False))

    def finds_what_is_allowed(self) -> bool:
        """Return whether an Allow statement applies to a request on the endpoint path, and no Deny statement does."""
        allows = [statement for statement in self.question.request.statements if not statement.is_deny]
        return any(self._search(partial(self._goals.allows, statement)) for statement in allows)

    def finds_what_applies(self, statement: Statement, paths: Iterable[RequestPath]) -> bool:
        """Return whether a statement applies to a request on any of some paths."""
        if not self._is_asked_about(statement):
            return False
        return any(self._search(partial(self._goals.applies, statement, path)) for path in paths)

    def _is_asked_about(self, statement: Statement) -> bool:
        statements = self.question.request.statements
        self.question.effort.spend(1 + len(statements) // 16)
        return any(statement is asked for asked in statements)

    def _search(self, goal: Callable[[], Answer]) -> bool:
        self.values.tried.clear()
        return self._reaches(goal)

    def _reaches(self, goal: Callable[[], Answer]) -> bool:
        """Return whether any values of what is unknown reach the goal."""
        answer = goal()
        if isinstance(answer, bool):
            return answer
        tried = self.values.tried
        if len(tried) == _MOST_KEYS:
            raise PolicyError(self.question.document.source, f"its conditions have more than {_MOST_KEYS} keys")
        unknown = self._candidates.needed_first(answer)
        for value in self._candidates.values_for(unknown):
            tried[unknown] = value
            if self._reaches(goal):
                return True
        del tried[unknown]
        return False


def searches_of(document: PolicyDocument, known: KnownContext, effort: Effort) -> list[Search]:
    """Return a search for each request that a policy is asked about."""
    computed = dict[object, Any]()
    requests = requests_of(document, effort)
    return [Search(PolicyQuestion(document, known, request, effort, computed)) for request in requests]
