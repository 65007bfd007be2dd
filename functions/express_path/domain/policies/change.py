"""What a gateway endpoint changes for policies: which statements would deny requests that were possible on the NAT path.

On the NAT path, aws:SourceIp is a public address, and the keys of endpoints are absent. On the endpoint path, it is the
other way around (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html). Everything else
about a request is unknown, and the same on both paths. A statement would deny if any request of any values shows it.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from express_path.domain.policies.conditions import (
    ABSENT,
    OTHER,
    Value,
    holds,
    public_ipv4,
    values_that_matter,
)
from express_path.domain.policies.documents import Condition, Element, PolicyDocument, Statement
from express_path.domain.policies.patterns import FILLER, example, examples, is_like
from express_path.errors import PolicyError

_SOURCE_IP, _VPCE, _VPC, _VPC_ARN, _VPC_IP = (
    "aws:sourceip",
    "aws:sourcevpce",
    "aws:sourcevpc",
    "aws:sourcevpcarn",
    "aws:vpcsourceip",
)
_ONLY_SOME_ENDPOINTS = "aws:vpce"
"""How the keys begin that are newer, such as aws:VpceOrgID: requests through an endpoint may have them."""
_DIRECT: Mapping[str, Value] = {
    "aws:viaawsservice": ("false",),
    "aws:principalisawsservice": ("false",),
    **dict.fromkeys(("aws:calledvia", "aws:calledviafirst", "aws:calledvialast"), ABSENT),
    **dict.fromkeys(("aws:sourcearn", "aws:sourceaccount", "aws:sourceorgid", "aws:sourceorgpaths"), ABSENT),
    **dict.fromkeys(("aws:principalservicename", "aws:principalservicenameslist"), ABSENT),
}
"""What clients in a subnet always send: they call S3 themselves, and are no AWS service."""
_SESSION_MODE = "s3express:sessionmode"
CREATE_SESSION = "s3express:CreateSession"
REGIONAL_ACTIONS = tuple(
    f"s3express:{name}"
    for name in (
        *(
            "CreateAccessPoint",
            "CreateBucket",
            "DeleteAccessPoint",
            "DeleteAccessPointPolicy",
            "DeleteAccessPointScope",
        ),
        *("DeleteBucket", "DeleteBucketPolicy", "GetAccessPoint", "GetAccessPointPolicy", "GetAccessPointScope"),
        *("GetBucketPolicy", "GetEncryptionConfiguration", "GetInventoryConfiguration", "GetLifecycleConfiguration"),
        *("GetMetricsConfiguration", "ListAccessPointsForDirectoryBuckets", "ListAllMyDirectoryBuckets"),
        *("ListTagsForResource", "PutAccessPointPolicy", "PutAccessPointScope", "PutBucketPolicy"),
        *("PutEncryptionConfiguration", "PutInventoryConfiguration", "PutLifecycleConfiguration"),
        *("PutMetricsConfiguration", "TagResource", "UntagResource"),
    )
)
"""https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3express.html"""
_ARNS = tuple(
    f"arn:{partition}:s3express:*:*:{kind}/*"
    for partition in ("aws", "aws-cn", "aws-us-gov")
    for kind in ("bucket", "accesspoint")
)
_ROLE = "arn:aws:iam::{}:role/" + FILLER
_VARIABLE = re.compile(r"\$\{\s*([^},]*?)\s*(?:,\s*'([^']*)'\s*)?\}")
_MOST_TRIES = 100_000


class Path(StrEnum):
    """The way of a request to S3 Express."""

    NAT = "NAT"
    ENDPOINT = "ENDPOINT"


@dataclass(frozen=True, slots=True)
class KnownContext:
    """What is known of the two paths. Where something is empty, any value is possible."""

    vpc_id: str = ""
    endpoint_id: str = ""
    nat_addresses: tuple[str, ...] = ()


NOTHING_KNOWN = KnownContext()


@dataclass(frozen=True, slots=True)
class Denial:
    """A statement that would deny on the endpoint path what was possible on the NAT path.

    conditions are those that depend on the path. fix says how to allow both paths.
    """

    source: str
    statement: Statement
    conditions: tuple[Condition, ...]
    fix: str

    @property
    def condition_text(self) -> str:
        """The conditions in one line."""
        return "; ".join(map(str, self.conditions))


def denials(document: PolicyDocument, known: KnownContext = NOTHING_KNOWN) -> list[Denial]:
    """Return the statements of a policy that would deny. Raise PolicyError if that would take too long to find out."""
    found = []
    for statement in document.statements:
        of_path = tuple(condition for condition in statement.conditions if _depends_on_path(condition, document))
        if not of_path:
            continue
        for request in _requests(document):
            search = _Search(document, known, request)
            if search.finds(statement):
                fix = _fix(statement, list(search.different_conditions(statement)), known)
                found.append(Denial(document.source, statement, of_path, fix))
                break
    return found


def restricts(endpoint_policy: PolicyDocument, known: KnownContext = NOTHING_KNOWN) -> bool:
    """Return whether an endpoint's policy denies any request to S3 Express, or does not allow it. Raise PolicyError."""
    return any(
        _Search(endpoint_policy, known, request).finds_what_endpoint_denies() for request in _requests(endpoint_policy)
    )


@dataclass(frozen=True, slots=True)
class _Request:
    """A request: its action, its session mode (empty unless it creates a session), and the statements about the action."""

    action: str
    session_mode: str
    statements: tuple[Statement, ...]


def _requests(document: PolicyDocument) -> list[_Request]:
    """Return requests so that each set of statements that can be about one action has one."""
    named = [pattern for statement in document.statements for pattern in statement.action.patterns]
    own = [found for found in examples(named) if found.lower().startswith("s3express:")]
    actions = [*REGIONAL_ACTIONS, *own, f"s3express:{FILLER}"]
    requests = [(CREATE_SESSION, mode) for mode in ("ReadWrite", "ReadOnly")]
    requests += [(action, "") for action in actions if action.lower() != CREATE_SESSION.lower()]
    by_statements: dict[tuple[str, tuple[Statement, ...]], _Request] = {}
    for action, mode in requests:
        about = tuple(statement for statement in document.statements if _is_about(statement.action, action))
        by_statements.setdefault((mode, about), _Request(action, mode, about))
    return list(by_statements.values())


def _is_about(element: Element, action: str) -> bool:
    """Return whether an Action or NotAction element covers an action. IAM ignores the case of actions."""
    return any(is_like(action.lower(), pattern.lower()) for pattern in element.patterns) is not element.is_negated


def _keys(condition: Condition, document: PolicyDocument) -> list[str]:
    """Return the key of a condition, and the keys of policy variables in its values, in lower case."""
    variables = _variables(condition.values) if document.has_variables else []
    return [condition.key.lower(), *variables]


def _variables(texts: Iterable[str]) -> list[str]:
    return [found[1].lower() for text in texts for found in _VARIABLE.finditer(text)]


def _depends_on_path(condition: Condition, document: PolicyDocument) -> bool:
    return any(_is_of_path(key) for key in _keys(condition, document))


def _is_of_path(key: str) -> bool:
    return key in (_SOURCE_IP, _VPCE, _VPC, _VPC_ARN, _VPC_IP) or key.startswith(_ONLY_SOME_ENDPOINTS)


class _Unknown(NamedTuple):
    """A key (in lower case) whose value is not known. path is empty if the value is the same on both paths."""

    path: Path | None
    key: str


_PRINCIPAL, _RESOURCE = _Unknown(None, "Principal"), _Unknown(None, "Resource")


@dataclass(slots=True)
class _Search:
    """A search for values of what is unknown for which a document changes what it says about a request."""

    document: PolicyDocument
    known: KnownContext
    request: _Request
    values: dict[_Unknown, Value] = field(default_factory=dict)
    missing: _Unknown | None = None
    tries: int = 0

    def finds(self, statement: Statement) -> bool:
        """Return whether a statement would deny. The values for which it does are then kept."""
        if statement not in self.request.statements:
            return False
        return self._finds(partial(self._would_deny if statement.is_deny else self._no_longer_allows, statement))

    def finds_what_endpoint_denies(self) -> bool:
        """Return whether any request is not allowed on the endpoint path."""
        return self._finds(
            lambda: _any([self._applies_any(Path.ENDPOINT, is_deny=True), self._is_not_allowed(Path.ENDPOINT)])
        )

    def different_conditions(self, statement: Statement) -> Iterator[Condition]:
        """Yield the conditions of a statement that hold on one path only, for the values that were found."""
        wrong = Path.NAT if statement.is_deny else Path.ENDPOINT
        return (condition for condition in statement.conditions if self._holds(condition, wrong) is False)

    def _finds(self, goal: Callable[[], bool | None]) -> bool:
        """Try values of what is unknown until the goal is certain."""
        reached, unknown = self._reached(goal)
        if reached is not None or unknown is None:
            return reached is True
        for value in self._candidates(unknown):
            self.tries += 1
            if self.tries > _MOST_TRIES:
                raise PolicyError(self.document.source, "its conditions have too many combinations to try them all")
            self.values[unknown] = value
            if self._finds(goal):
                return True
            del self.values[unknown]
        return False

    def _reached(self, goal: Callable[[], bool | None]) -> tuple[bool | None, _Unknown | None]:
        """Return whether a goal is reached, None if that is unknown, and the first value that is missing."""
        self.missing = None
        return goal(), self.missing

    # --- goals: true, false, or None while values are missing

    def _would_deny(self, statement: Statement) -> bool | None:
        """Whether a Deny statement applies on the endpoint path, and none did on the NAT path."""
        return _all([self._applies(statement, Path.ENDPOINT), self._is_not_denied(Path.NAT)])

    def _no_longer_allows(self, statement: Statement) -> bool | None:
        """Whether an Allow statement applied on the NAT path, and none does on the endpoint path."""
        allowed = [self._applies(statement, Path.NAT), self._is_not_denied(Path.NAT)]
        return _all([*allowed, self._is_not_allowed(Path.ENDPOINT)])

    def _is_not_denied(self, path: Path) -> bool | None:
        return _none([self._applies_any(path, is_deny=True)])

    def _is_not_allowed(self, path: Path) -> bool | None:
        return _none([self._applies_any(path, is_deny=False)])

    def _applies_any(self, path: Path, *, is_deny: bool) -> bool | None:
        return _any([self._applies(found, path) for found in self.request.statements if found.is_deny is is_deny])

    def _applies(self, statement: Statement, path: Path) -> bool | None:
        parts = [self._covers(statement.principal, _PRINCIPAL, _is_principal)]
        parts.append(self._covers(statement.resource, _RESOURCE, is_like, path))
        return _all([*parts, *(self._holds(condition, path) for condition in statement.conditions)])

    def _covers(
        self, element: Element, unknown: _Unknown, matches: Callable[[str, str], bool], path: Path | None = None
    ) -> bool | None:
        if "*" in element.patterns:
            return not element.is_negated
        value = self._value(unknown)
        patterns = self._replaced(element.patterns, path) if path else element.patterns
        if value is None or patterns is None:
            return None
        return any(matches(value[0], pattern) for pattern in patterns) is not element.is_negated

    def _holds(self, condition: Condition, path: Path) -> bool | None:
        value = self._value_of_key(condition.key.lower(), path)
        allowed = self._replaced(condition.values, path)
        return None if value is None or allowed is None else holds(condition, value, allowed)

    # --- values

    def _value(self, unknown: _Unknown) -> Value | None:
        """Return the value of what was unknown; None if it has none yet."""
        value = self.values.get(unknown)
        if value is None and self.missing is None:
            self.missing = unknown
        return value

    def _value_of_key(self, key: str, path: Path) -> Value | None:
        """Return the value of a key on a path; None if it is unknown."""
        if key == _SESSION_MODE:
            return (self.request.session_mode,) if self.request.session_mode else ABSENT
        if key in _DIRECT:
            return _DIRECT[key]
        if not _is_of_path(key):
            return self._value(_Unknown(None, key))
        if (key == _SOURCE_IP) is (path is Path.ENDPOINT):
            return ABSENT
        return self._value(_Unknown(path, key))

    def _replaced(self, texts: Sequence[str], path: Path) -> list[str] | None:
        """Return values of a policy with its variables replaced; None if the value of a variable is unknown.

        What a variable without a value is part of matches nothing.
        """
        if not self.document.has_variables or not any("${" in text for text in texts):
            return list(texts)
        replaced = []
        for text in texts:
            values = {}
            for name, default in _VARIABLE.findall(text):
                value = (name,) if name in ("*", "?", "$") else self._value_of_key(name.lower(), path)
                if value is None:
                    return None
                values[name] = value[0] if value else default
            if all(values.values()):
                replaced.append(_VARIABLE.sub(lambda found, values=values: values[found[1]], text))  # type: ignore[misc]
        return replaced

    def _candidates(self, unknown: _Unknown) -> list[Value]:
        """Return the values to try."""
        if unknown == _PRINCIPAL:
            return [(principal,) for principal in _principals(self.document.statements)]
        if unknown == _RESOURCE:
            return [(resource,) for resource in self._resources()]
        path, key = unknown
        given = self._given(path, key)
        if given:
            return given
        conditions = [
            condition
            for statement in self.request.statements
            for condition in statement.conditions
            if key in _keys(condition, self.document)
        ]
        values = values_that_matter(self._example_of_variables(condition) for condition in conditions)
        if path is Path.NAT:
            return public_ipv4(values) or [("203.0.113.1",)]
        if key == _VPC_ARN and self.known.vpc_id:
            arns = (f"arn:aws:ec2:{FILLER}:{FILLER}:vpc/{self.known.vpc_id}", *(value[0] for value in values))
            return [(arn,) for arn in dict.fromkeys(arns) if arn.endswith(f"/{self.known.vpc_id}")]
        may_be_absent = path is None or key.startswith(_ONLY_SOME_ENDPOINTS)
        return [*values, ABSENT] if may_be_absent else values

    def _given(self, path: Path | None, key: str) -> list[Value]:
        if path is Path.NAT:
            return [(address,) for address in self.known.nat_addresses]
        given = {_VPC: self.known.vpc_id, _VPCE: self.known.endpoint_id}.get(key, "")
        return [(given,)] if path is Path.ENDPOINT and given else []

    def _example_of_variables(self, condition: Condition) -> Condition:
        """Return a condition with a value in place of each variable. That value is tried for the variable's key, too."""
        if not self.document.has_variables:
            return condition
        return replace(condition, values=tuple(_VARIABLE.sub(FILLER, text) for text in condition.values))

    def _resources(self) -> Iterator[str]:
        """Yield ARNs of directory buckets and access points: of each pattern one, and one of none."""
        patterns = [pattern for statement in self.request.statements for pattern in statement.resource.patterns]
        if self.document.has_variables:
            patterns = [_VARIABLE.sub(FILLER, pattern) for pattern in patterns]
        yield f"arn:aws:s3express:{FILLER}:{FILLER}:bucket/{OTHER[0]}"
        yield from filter(None, (example(pattern, arn) for pattern in patterns for arn in _ARNS))
        yield from (arn for arn in examples(patterns) if any(is_like(arn, pattern) for pattern in _ARNS))


def _principals(statements: Iterable[Statement]) -> list[str]:
    """Return a principal for each that is named, and one that is not."""
    named = [pattern for statement in statements for pattern in statement.principal.patterns if pattern != "*"]
    accounts = [_ROLE.format(_account(pattern)) for pattern in named if _account(pattern)]
    return list(dict.fromkeys([*named, *accounts, _ROLE.format("000000000000")]))


def _is_principal(value: str, pattern: str) -> bool:
    """Return whether a Principal names a principal: itself, or its whole account."""
    account = _account(pattern)
    return value == pattern or (account != "" and value.split(":")[4:5] == [account])


def _account(pattern: str) -> str:
    """Return the account that a Principal names as a whole, by its ID or the ARN of its root; empty if it does not."""
    found = re.fullmatch(r"(?:arn:[^:]*:iam::)?(\d{12})(?::root)?", pattern)
    return found[1] if found else ""


def _all(answers: Iterable[bool | None]) -> bool | None:
    known = list(answers)
    return False if False in known else None if None in known else True


def _any(answers: Iterable[bool | None]) -> bool | None:
    known = list(answers)
    return True if True in known else None if None in known else False


def _none(answers: Iterable[bool | None]) -> bool | None:
    found = _any(answers)
    return None if found is None else not found


def _fix(statement: Statement, different: Sequence[Condition], known: KnownContext) -> str:
    """Return how to change a statement so that it allows both paths."""
    key, value = ("aws:SourceVpce", known.endpoint_id) if known.endpoint_id else ("aws:SourceVpc", known.vpc_id)
    value = value or "<ID of the VPC>"
    if statement.is_deny:
        more = Condition("StringNotEquals", "", if_exists=False, key=key, values=(value,))
        return f"replace its Condition by {_json((*statement.conditions, more))}"
    more = Condition("StringEquals", "", if_exists=False, key=key, values=(value,))
    kept = [condition for condition in statement.conditions if condition not in different]
    return f"add the same statement once more, with the Condition {_json((*kept, more))}"


def _json(conditions: Sequence[Condition]) -> str:
    """Return a Condition element. Values of the same operator and key are in one list."""
    block: dict[str, dict[str, list[str]]] = {}
    for condition in conditions:
        keys = block.setdefault(condition.operator_text, {})
        key = next((found for found in keys if found.lower() == condition.key.lower()), condition.key)
        keys[key] = [*keys.get(key, []), *condition.values]
    return json.dumps(block)
