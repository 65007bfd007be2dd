"""The requests about which a policy is asked."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from express_path.domain.policies.conditions import Value, unreadable
from express_path.domain.policies.documents import Condition, Element, PolicyDocument, Statement
from express_path.domain.policies.effort import Effort
from express_path.domain.policies.keys import variables_in
from express_path.domain.policies.patterns import compiled, examples, is_like, is_wild
from express_path.errors import PolicyError

_SERVICE = "s3express"
_CREATE_SESSION = "s3express:createsession"


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """A request of an AWS service: its principal, such as sns.amazonaws.com, the action, and the ARN of the resource.

    values are those that a key (in lower case) may have; keys that begin as in absent have none, and others may have any.
    """

    service: str
    action: str
    resource: str
    values: Mapping[str, Sequence[Value]]
    absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """A request: its session mode (empty unless it creates a session), and the statements about its action."""

    session_mode: str
    statements: tuple[Statement, ...]

    @cached_property
    def conditions(self) -> Mapping[str, Sequence[Condition]]:
        """The conditions of the statements by their keys, in lower case."""
        by_key = defaultdict[str, list[Condition]](list)
        for condition in dict.fromkeys(chain.from_iterable(row.conditions for row in self.statements)):
            by_key[condition.key.lower()].append(condition)
        return by_key

    @cached_property
    def variables(self) -> frozenset[str]:
        """The keys of all policy variables, in lower case."""
        values = (row.values for rows in self.conditions.values() for row in rows)
        resources = (row.resource.patterns for row in self.statements)
        return frozenset(variables_in(chain.from_iterable(chain(values, resources))))


def requests_of(document: PolicyDocument, effort: Effort) -> list[Request]:
    """Return requests so that each set of statements that can be about one action has one, whether AWS documents it or not.

    Raise PolicyError if one of their conditions has a value that its operator cannot compare.
    """
    named = sorted({pattern.lower() for statement in document.statements for pattern in statement.action.patterns})
    effort.match((_SERVICE,), named)
    patterns = [pattern for pattern in named if is_like(_SERVICE, pattern.partition(":")[0])]
    wild = [compiled(pattern) for pattern in patterns if is_wild(pattern)]
    literal = [_CREATE_SESSION, *(pattern for pattern in patterns if not is_wild(pattern))]
    actions = dict.fromkeys(examples(wild, literal, effort, [compiled(f"{_SERVICE}:?*")]))
    asked = [(_CREATE_SESSION, mode) for mode in ("ReadWrite", "ReadOnly")]
    asked += [(action, "") for action in actions if action != _CREATE_SESSION]
    requests: dict[tuple[str, tuple[int, ...]], Request] = {}
    for action, mode in asked:
        about = tuple(number for number, row in enumerate(document.statements) if is_about(row.action, action, effort))
        if (mode, about) not in requests:
            statements = tuple(document.statements[number] for number in about)
            requests[mode, about] = Request(mode, statements)
            effort.spend(sum(1 + len(statement.conditions) for statement in statements))
    refuse_unreadable(document, chain.from_iterable(request.statements for request in requests.values()))
    return list(requests.values())


def refuse_unreadable(document: PolicyDocument, statements: Iterable[Statement]) -> None:
    """Raise PolicyError if a condition has a value that its operator cannot compare."""
    conditions = {condition for row in statements for condition in row.conditions}
    wrong = sorted(filter(None, map(unreadable, conditions)))
    if wrong:
        raise PolicyError(document.source, wrong[0])


def is_about(element: Element, action: str, effort: Effort) -> bool:
    """Return whether an Action or NotAction element covers an action, which is in lower case. IAM ignores the case of actions."""
    effort.match((action,), element.patterns)
    return any(is_like(action, pattern.lower()) for pattern in element.patterns) is not element.is_negated
