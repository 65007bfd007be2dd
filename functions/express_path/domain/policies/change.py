"""What a gateway endpoint changes for policies: which statements would deny requests that were possible on the NAT path.

On the NAT path, aws:SourceIp is a public address, and the keys of endpoints are absent. On the endpoint path, it is the
other way around (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html). The client calls
S3 Express itself, with no credentials of an instance or with those of its own. Everything else about a request is unknown,
and the same on both paths. A statement would deny if any request of any values shows it.

The same search finds whether a policy may allow the request of an AWS service, which takes neither path.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple, cast

from express_path.domain.policies.conditions import (
    ABSENT,
    OTHER,
    Value,
    different,
    holds,
    is_public_ipv4,
    sets_of,
    unreadable,
    values_that_matter,
)
from express_path.domain.policies.documents import SERVICE, Condition, Element, PolicyDocument, Statement
from express_path.domain.policies.effort import BYTES_OF_CHARACTER, Effort
from express_path.domain.policies.patterns import (
    ARN_WITHOUT_COLONS,
    FILLER,
    Pattern,
    compiled,
    examples,
    is_like,
    is_wild,
)
from express_path.errors import PolicyError

_SOURCE_IP, _VPCE, _VPC, _VPC_ARN, _VPC_IP = (
    "aws:sourceip",
    "aws:sourcevpce",
    "aws:sourcevpc",
    "aws:sourcevpcarn",
    "aws:vpcsourceip",
)
_REGION, _INSTANCE_VPC, _INSTANCE_IP = (
    "aws:requestedregion",
    "aws:ec2instancesourcevpc",
    "aws:ec2instancesourceprivateipv4",
)
_OF_INSTANCES = {_INSTANCE_VPC: _VPC, _INSTANCE_IP: _VPC_IP}
"""Keys of requests with the credentials of an instance, and the keys of the endpoint path that have the same values."""
_AFTER = {_VPC_ARN: _VPC, _REGION: _VPC, **_OF_INSTANCES}
"""Keys whose values depend on that of another one."""
_CURRENT_TIME, _EPOCH_TIME, _SECURE_TRANSPORT, _PRINCIPAL_ARN = (
    "aws:currenttime",
    "aws:epochtime",
    "aws:securetransport",
    "aws:principalarn",
)
_ALWAYS = (
    *(_CURRENT_TIME, _EPOCH_TIME, _SECURE_TRANSPORT, _PRINCIPAL_ARN, _REGION),
    *("aws:principalaccount", "aws:principaltype", "aws:resourceaccount", "aws:useragent", "aws:userid"),
)
"""Keys that every request has that is signed, as those to S3 Express are
(https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html, Availability)."""
_OF_SERVICES = ("aws:principalisawsservice", "aws:viaawsservice")
"""Keys that are true only if an AWS service calls, which no service does from a subnet."""
_FORMS = {_VPC: "vpc-", _INSTANCE_VPC: "vpc-", _VPCE: "vpce-"}
"""How the values of keys begin."""
_ONLY_SOME_ENDPOINTS = "aws:vpce"
"""How the keys begin that are newer, such as aws:VpceOrgID: requests through an endpoint may have them."""
_SETS_OF_PATH = ("aws:vpceorgpaths",)
"""Which keys that depend on the path have several values."""
_SESSION_MODE = "s3express:sessionmode"
_SERVICE = "s3express"
_CREATE_SESSION = "s3express:createsession"
_ROLE = f"arn:aws:iam::{{}}:role/{FILLER}"
_VARIABLE = re.compile(r"\$\{([^{},]*)(?:,\s*'([^'{}]*)'\s*)?\}")
_PARTITION = re.compile(r"arn:(aws(?:-[a-z]+)*):")
_ESCAPES = ("*", "?", "$")
"""What looks like a policy variable, and stands for the character itself."""
_MOST_KEYS = 200
_STEPS_OF_CONDITION = 4


class Path(StrEnum):
    """The way of a request to S3 Express."""

    NAT = "NAT"
    ENDPOINT = "ENDPOINT"


@dataclass(frozen=True, slots=True)
class KnownContext:
    """What is known of the two paths. Where something is empty, any value is possible.

    now is the time of the requests, for a policy that may depend on it. partition is that of the Region, such as aws.
    """

    vpc_id: str = ""
    endpoint_id: str = ""
    nat_addresses: tuple[str, ...] = ()
    region: str = ""
    now: datetime | None = None
    partition: str = ""


NOTHING_KNOWN = KnownContext()


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


def may_allow(document: PolicyDocument, request: ServiceRequest) -> bool:
    """Return whether a policy allows the request of a service, whatever is unknown of it. Raise PolicyError."""
    effort = Effort(document.source)
    rows = tuple(row for row in document.statements if _is_about(row.action, request.action.lower(), effort))
    _refuse_unreadable(document, rows)
    search = _Search(document, NOTHING_KNOWN, _Request("", rows), effort, {}, service_request=request)
    return search.finds_what_is_allowed()


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
        return "; ".join(map(str, self.conditions)) or "no condition"


def denials(
    document: PolicyDocument, known: KnownContext = NOTHING_KNOWN, effort: Effort | None = None
) -> list[Denial]:
    """Return the statements of a policy that would deny. Raise PolicyError if that cannot be found out."""
    effort = effort or Effort(document.source)
    in_resources = _variables(text for row in document.statements for text in row.resource.patterns)
    if document.has_variables and any(map(_is_of_path, in_resources)):
        raise PolicyError(document.source, "a Resource has a policy variable whose value depends on the path")
    paths_matter = [
        row for row in document.statements if any(_depends_on_path(one, document) for one in row.conditions)
    ]
    searches = _searches(document, known, effort) if paths_matter else []
    found = []
    for statement in paths_matter:
        search = next((search for search in searches if search.finds(statement)), None)
        if search:
            of_path = [condition for condition in statement.conditions if _depends_on_path(condition, document)]
            found.append(Denial(document.source, statement, tuple(of_path), _fix(statement, of_path, search, searches)))
    return found


def restrictions(
    endpoint_policy: PolicyDocument, known: KnownContext = NOTHING_KNOWN, effort: Effort | None = None
) -> list[Denial]:
    """Return the statements of an endpoint's policy that restrict requests to S3 Express: no such policy applies to a NAT.

    These are Deny statements that apply to any request, and, if any request is not allowed, all Allow statements. Raise
    PolicyError.
    """
    effort = effort or Effort(endpoint_policy.source)
    searches = _searches(endpoint_policy, known, effort)
    allows_too_little = any(search.finds_what_is_not_allowed() for search in searches)
    found = []
    for statement in endpoint_policy.statements:
        if statement.is_deny:
            fix = "delete the statement"
            restricts = any(search.finds_what_applies(statement, [Path.ENDPOINT]) for search in searches)
        else:
            fix = "add a statement that allows every principal every action on every resource"
            restricts = allows_too_little
        if restricts:
            found.append(Denial(endpoint_policy.source, statement, statement.conditions, fix))
    return found


def allows_no_session(
    endpoint_policy: PolicyDocument, known: KnownContext = NOTHING_KNOWN, effort: Effort | None = None
) -> bool:
    """Return whether an endpoint's policy allows no CreateSession, without which no object can be read or written.

    Raise PolicyError. https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateSession.html
    """
    searches = _searches(endpoint_policy, known, effort or Effort(endpoint_policy.source))
    return not any(search.request.session_mode and search.finds_what_is_allowed() for search in searches)


@dataclass(frozen=True)
class _Request:
    """A request: its session mode (empty unless it creates a session), and the statements about its action."""

    session_mode: str
    statements: tuple[Statement, ...]

    @cached_property
    def conditions(self) -> Mapping[str, Sequence[Condition]]:
        """The conditions of the statements by their keys, in lower case."""
        found = defaultdict[str, list[Condition]](list)
        for condition in dict.fromkeys(chain.from_iterable(row.conditions for row in self.statements)):
            found[condition.key.lower()].append(condition)
        return found

    @cached_property
    def variables(self) -> frozenset[str]:
        """The keys of all policy variables, in lower case."""
        values = (row.values for rows in self.conditions.values() for row in rows)
        resources = (row.resource.patterns for row in self.statements)
        return frozenset(_variables(chain.from_iterable(chain(values, resources))))


def _requests(document: PolicyDocument, effort: Effort) -> list[_Request]:
    """Return requests so that each set of statements that can be about one action has one, whether AWS documents it or not.

    Raise PolicyError if one of their conditions has a value that its operator cannot compare.
    """
    named = sorted({pattern.lower() for statement in document.statements for pattern in statement.action.patterns})
    effort.match((_SERVICE,), named)
    own = [pattern for pattern in named if is_like(_SERVICE, pattern.partition(":")[0])]
    wild = [compiled(pattern) for pattern in own if is_wild(pattern)]
    literal = [_CREATE_SESSION, *(pattern for pattern in own if not is_wild(pattern))]
    actions = dict.fromkeys(examples(wild, literal, effort, [compiled(f"{_SERVICE}:?*")]))
    requests = [(_CREATE_SESSION, mode) for mode in ("ReadWrite", "ReadOnly")]
    requests += [(action, "") for action in actions if action != _CREATE_SESSION]
    found: dict[tuple[str, tuple[int, ...]], _Request] = {}
    for action, mode in requests:
        about = tuple(n for n, row in enumerate(document.statements) if _is_about(row.action, action, effort))
        if (mode, about) not in found:
            found[mode, about] = _Request(mode, tuple(document.statements[number] for number in about))
            effort.spend(sum(1 + len(row.conditions) for row in found[mode, about].statements))
    _refuse_unreadable(document, chain.from_iterable(request.statements for request in found.values()))
    return list(found.values())


def _refuse_unreadable(document: PolicyDocument, statements: Iterable[Statement]) -> None:
    """Raise PolicyError if a condition has a value that its operator cannot compare."""
    conditions = {condition for row in statements for condition in row.conditions}
    wrong = sorted(filter(None, map(unreadable, conditions)))
    if wrong:
        raise PolicyError(document.source, wrong[0])


def _is_about(element: Element, action: str, effort: Effort) -> bool:
    """Return whether an Action or NotAction element covers an action, which is in lower case. IAM ignores the case of actions."""
    effort.match((action,), element.patterns)
    return any(is_like(action, pattern.lower()) for pattern in element.patterns) is not element.is_negated


def _keys(condition: Condition, document: PolicyDocument) -> list[str]:
    """Return the key of a condition, and the keys of policy variables in its values, in lower case."""
    variables = _variables(condition.values) if document.has_variables else []
    return [condition.key.lower(), *variables]


def _variables(texts: Iterable[str]) -> list[str]:
    names = (found[1].strip().lower() for text in texts for found in _VARIABLE.finditer(text))
    return [name for name in names if name not in _ESCAPES]


def _depends_on_path(condition: Condition, document: PolicyDocument) -> bool:
    return any(_is_of_path(key) for key in _keys(condition, document))


def _is_of_path(key: str) -> bool:
    return key in (_SOURCE_IP, _VPCE, _VPC, _VPC_ARN, _VPC_IP) or key.startswith(_ONLY_SOME_ENDPOINTS)


class _Unknown(NamedTuple):
    """A key (in lower case) whose value is not known. path is empty if the value is the same on both paths."""

    path: Path | None
    key: str


Answer = bool | _Unknown
"""True, false, or the first value that is missing to answer."""
_PRINCIPAL, _RESOURCE = _Unknown(None, "Principal"), _Unknown(None, "Resource")


@dataclass(slots=True)
class _Search:
    """A search for values of what is unknown for which a document changes what it says about a request.

    computed is shared by all searches of a document: most values that are tried do not change which others matter, or have
    been compared before. After a search that found something, values are those that show it.
    """

    document: PolicyDocument
    known: KnownContext
    request: _Request
    effort: Effort
    computed: dict[object, Any]
    values: dict[_Unknown, Value] = field(default_factory=dict)
    service_request: ServiceRequest | None = None

    def finds(self, statement: Statement) -> bool:
        """Return whether a statement would deny."""
        goal = self._would_deny if statement.is_deny else self._no_longer_allows
        return self._is_asked_about(statement) and self._search(partial(goal, statement))

    def finds_what_is_not_allowed(self) -> bool:
        """Return whether no Allow statement applies to a request on the endpoint path."""
        return self._search(partial(self._none_applies, Path.ENDPOINT, is_deny=False))

    def finds_what_is_allowed(self) -> bool:
        """Return whether an Allow statement applies to a request on the endpoint path, and no Deny statement does."""
        allows = [statement for statement in self.request.statements if not statement.is_deny]
        return any(self._search(partial(self._allows, statement)) for statement in allows)

    def finds_what_applies(self, statement: Statement, paths: Iterable[Path]) -> bool:
        """Return whether a statement applies to a request on any of some paths."""
        return self._is_asked_about(statement) and any(
            self._search(partial(self._applies, statement, path)) for path in paths
        )

    def _is_asked_about(self, statement: Statement) -> bool:
        self.effort.spend(1 + len(self.request.statements) // 16)
        return any(statement is row for row in self.request.statements)

    def _search(self, goal: Callable[[], Answer]) -> bool:
        self.values.clear()
        return self._finds(goal)

    def _finds(self, goal: Callable[[], Answer]) -> bool:
        """Return whether any values of what is unknown reach the goal."""
        answer = goal()
        if isinstance(answer, bool):
            return answer
        if len(self.values) == _MOST_KEYS:
            raise PolicyError(self.document.source, f"its conditions have more than {_MOST_KEYS} keys")
        unknown = self._needed_first(answer)
        for value in self._candidates(unknown):
            self.values[unknown] = value
            if self._finds(goal):
                return True
        del self.values[unknown]
        return False

    # --- goals

    def _would_deny(self, statement: Statement) -> Answer:
        """Whether a Deny statement applies on the endpoint path, and none did on the NAT path."""
        return _all([self._applies(statement, Path.ENDPOINT), self._none_applies(Path.NAT, is_deny=True)])

    def _no_longer_allows(self, statement: Statement) -> Answer:
        """Whether an Allow statement applied on the NAT path, and none does on the endpoint path."""
        allowed = [self._applies(statement, Path.NAT), self._none_applies(Path.NAT, is_deny=True)]
        return _all([*allowed, self._none_applies(Path.ENDPOINT, is_deny=False)])

    def _allows(self, statement: Statement) -> Answer:
        """Whether an Allow statement applies on the endpoint path, and no Deny statement does."""
        return _all([self._applies(statement, Path.ENDPOINT), self._none_applies(Path.ENDPOINT, is_deny=True)])

    def _none_applies(self, path: Path, *, is_deny: bool) -> Answer:
        """Whether no Deny statement, or no Allow statement, applies on a path."""
        return _all(_not(self._applies(row, path)) for row in self.request.statements if row.is_deny is is_deny)

    def _applies(self, statement: Statement, path: Path) -> Answer:
        self.effort.spend(2)
        return _all(
            chain(
                [self._covers_principal(statement.principal), self._covers_resource(statement.resource, path)],
                (self._holds(condition, path) for condition in statement.conditions),
            )
        )

    def _covers_principal(self, element: Element) -> Answer:
        if "*" in element.patterns:
            return not element.is_negated
        principal = self._value(_PRINCIPAL)
        if isinstance(principal, _Unknown):
            return principal
        self.effort.spend(len(element.patterns))
        return any(_is_principal(principal[0], pattern) for pattern in element.patterns) is not element.is_negated

    def _covers_resource(self, element: Element, path: Path) -> Answer:
        if "*" in element.patterns:
            return not element.is_negated
        patterns = self._replaced(element.patterns, path)
        if isinstance(patterns, _Unknown):
            return patterns
        resource = self._value(_RESOURCE)
        if isinstance(resource, _Unknown):
            return resource
        self.effort.match(resource, patterns)
        return any(is_like(resource[0], pattern) for pattern in patterns) is not element.is_negated

    def _holds(self, condition: Condition, path: Path) -> Answer:
        self.effort.spend(_STEPS_OF_CONDITION)
        value = self._value_of_key(condition.key.lower(), path)
        if isinstance(value, _Unknown):
            return value
        allowed = self._replaced(condition.values, path)
        if isinstance(allowed, _Unknown):
            return allowed
        compared = (condition, value, allowed)
        self.effort.spend(1 + len(allowed) // 16)
        if compared not in self.computed:
            self.computed[compared] = holds(condition, value, allowed, self.effort)
        return bool(self.computed[compared])

    # --- values

    def _value(self, unknown: _Unknown) -> Value | _Unknown:
        """Return the value that is tried for what is unknown, if there is one yet."""
        return self.values.get(unknown, unknown)

    def _value_of_key(self, key: str, path: Path) -> Value | _Unknown:
        if self.service_request:
            return self._value(_Unknown(None, key))
        if key == _SESSION_MODE:
            return (self.request.session_mode,) if self.request.session_mode else ABSENT
        if not _is_of_path(key):
            return self._value(_Unknown(None, key))
        if (key == _SOURCE_IP) is (path is Path.ENDPOINT):
            return ABSENT
        return self._value(_Unknown(path, key))

    def _replaced(self, texts: tuple[str, ...], path: Path) -> tuple[str, ...] | _Unknown:
        """Return texts of a policy with its variables replaced, or the variable whose value is missing.

        A text with a variable that has no value matches nothing, so it is left out.
        """
        if not self.document.has_variables or not any("${" in text for text in texts):
            return texts
        replaced = []
        for text in texts:
            values = []
            for name, default in _VARIABLE.findall(text):
                value = (name,) if name in _ESCAPES else self._value_of_key(name.strip().lower(), path)
                if isinstance(value, _Unknown):
                    return value
                values.append(value[0] if value else default)
            if all(values):
                self.effort.spend(1, len(text) + sum(map(len, values)))
                rest = iter(values)
                replaced.append(_VARIABLE.sub(lambda _, rest=rest: next(rest), text))  # type: ignore[misc]
        return tuple(replaced)

    def _needed_first(self, unknown: _Unknown) -> _Unknown:
        """Return what to try values for first: what the values of a key are compared to, or depend on."""
        waiting = [unknown]
        while (needed := self._compared_to(waiting[-1])) and needed not in waiting:
            waiting.append(needed)
        return waiting[-1]

    def _compared_to(self, unknown: _Unknown) -> _Unknown | None:
        """Return another key without a value, whose value says which values of this one matter."""
        keys = [_AFTER[unknown.key]] if unknown.key in _AFTER else []
        if self.document.has_variables:
            keys += [key for key in _variables(self._texts_about(unknown)) if _AFTER.get(key) != unknown.key]
        paths = [unknown.path] if unknown.path else list(Path)
        values = (self._value_of_key(key, path) for key in keys for path in paths)
        return next((value for value in values if isinstance(value, _Unknown) and value != unknown), None)

    def _texts_about(self, unknown: _Unknown) -> list[str]:
        """Return what the policy says the resource or the value of a key is like."""
        if unknown == _RESOURCE:
            return [text for row in self.request.statements for text in row.resource.patterns]
        return [text for condition in self._conditions_on(unknown.key) for text in condition.values]

    def _conditions_on(self, key: str) -> Sequence[Condition]:
        found = self.request.conditions.get(key, ())
        self.effort.spend(len(found), sum(len(condition.values) for condition in found))
        return found

    def _candidates(self, unknown: _Unknown) -> list[Value]:
        """Return the values to try."""
        if self.service_request and (known := _of_service(self.service_request, unknown)):
            return known
        if unknown == _PRINCIPAL:
            return [(principal,) for principal in _principals(self.request.statements)]
        if unknown == _RESOURCE:
            return [(resource,) for resource in self._resources()]
        path, key = unknown
        given = self._given(path, key)
        if given:
            return given
        conditions = self._conditions_on(key)
        is_set = any(row.quantifier for row in conditions) and (path is None or key in _SETS_OF_PATH)
        found = []
        for value in sets_of(self._values_of(unknown), len(conditions) if is_set else 1):
            self.effort.spend()
            found.append(value)
        may_be_absent = path is None and key not in _ALWAYS
        return [*found, ABSENT] if may_be_absent or key.startswith(_ONLY_SOME_ENDPOINTS) else found

    def _given(self, path: Path | None, key: str) -> list[Value]:
        """Return the only values that a key can have, as far as that is known."""
        if path is Path.NAT:
            return [(address,) for address in self.known.nat_addresses]
        if key in _OF_SERVICES:
            return [("false",)]
        if key == _SECURE_TRANSPORT:
            return [("true",), ("false",)]
        if self.known.now and key in (_CURRENT_TIME, _EPOCH_TIME):
            return [(self.known.now.isoformat() if key == _CURRENT_TIME else str(int(self.known.now.timestamp())),)]
        if key in _OF_INSTANCES:
            value = self.values.get(_Unknown(Path.ENDPOINT, _OF_INSTANCES[key]), ABSENT)
            return [ABSENT] if key == _INSTANCE_IP and ":" in "".join(value) else [value, ABSENT]
        given = {_VPC: self.known.vpc_id, _VPCE: self.known.endpoint_id, _REGION: self.known.region}.get(key, "")
        if given or key != _REGION:
            return [(given,)] if given else []
        # Who names a VPC together with Regions knows its Region, and its endpoint carries only requests of that one.
        rows = [row.conditions for row in self.request.statements]
        own = [row for row in rows if any(one.key.lower() == _VPC and self._vpc_id() in one.values for one in row)]
        return [(text,) for row in own for one in row if one.key.lower() == _REGION for text in one.values]

    def _values_of(self, unknown: _Unknown) -> list[str]:
        """Return values of a key so that each way in which one compares to what the policy says has one."""
        path, key = unknown
        names = [key, *(other for other, same in _OF_INSTANCES.items() if same == key)]
        compared = self._compared_with(names)
        about = [row for other in (*names, *compared) for row in self._conditions_on(other)]
        paths = [path] if path else list(Path)
        shown = [replace(row, values=self._shown(row.values, one)) for row in about for one in paths]
        conditions = list(dict.fromkeys(shown))
        others = [_FORMS[other] + text for other in compared if other in _FORMS for text in OTHER]
        tried = (*self._tried(compared), *others)
        conditions += [Condition("StringEquals", "", if_exists=False, key=key, values=tried)]
        if key == _VPC:
            for row in self._conditions_on(_VPC_ARN):
                ids = [text.rpartition("/")[2] for text in self._shown(row.values, Path.ENDPOINT)]
                conditions += [replace(row, operator="StringLike", values=(vpc_id,)) for vpc_id in ids]
        frames = [compiled(f"{_FORMS[key]}?*")] if key in _FORMS else []
        frames = self._arns(f"ec2:?*:?*:vpc/{self._vpc_id()}") if key == _VPC_ARN else frames
        frames = self._arns("iam::?*:?*") if key == _PRINCIPAL_ARN else frames
        of_addresses = key in (_SOURCE_IP, _VPC_IP)
        is_variable = not self.request.variables.isdisjoint(names)
        question = (path is Path.NAT, of_addresses, is_variable, tuple(conditions), tuple(frames))
        if question not in self.computed:
            values = values_that_matter(conditions, self.effort, of_addresses=of_addresses, frames=frames)
            if path is Path.NAT:
                values = [value for value in values if is_public_ipv4(value)]
            if not is_variable and not any(FILLER in text for row in conditions for text in row.values):
                values = [*different(values, conditions, self.effort)]
            self.computed[question] = values
        return cast("list[str]", self.computed[question])

    def _compared_with(self, keys: Sequence[str]) -> list[str]:
        """Return the other keys that conditions compare with keys, by a policy variable."""
        if self.request.variables.isdisjoint(keys):
            return []
        others = [other for other in self.request.conditions if other not in keys]
        return [
            other for other in others if not set(keys).isdisjoint(_variables(self._texts_about(_Unknown(None, other))))
        ]

    def _tried(self, keys: Sequence[str]) -> tuple[str, ...]:
        """Return the values of keys that are given or tried."""
        values = [self._value_of_key(key, path) for key in keys for path in Path]
        values += [value for key in keys for value in self._given(Path.ENDPOINT, _VPC if key == _VPC_ARN else key)]
        return tuple(dict.fromkeys(text for value in values if not isinstance(value, _Unknown) for text in value))

    def _vpc_id(self) -> str:
        """Return the ID of the endpoint's VPC, or the one that is tried; else a pattern for any."""
        tried = self.values.get(_Unknown(Path.ENDPOINT, _VPC))
        return self.known.vpc_id or (tried[0] if tried else "*")

    def _shown(self, texts: tuple[str, ...], path: Path) -> tuple[str, ...]:
        """Return texts with the values that are tried in place of variables, and with others where there is none yet."""
        replaced = self._replaced(texts, path)
        if isinstance(replaced, _Unknown):
            replaced = tuple(_VARIABLE.sub(FILLER, text) for text in texts)
        return tuple(dict.fromkeys(replaced))

    def _resources(self) -> list[str]:
        """Return ARNs of directory buckets and access points, so that each set of patterns that match one has one."""
        # no Resource has a variable whose value depends on the path
        patterns = self._shown(tuple(self._texts_about(_RESOURCE)), Path.NAT)
        if patterns not in self.computed:
            self.effort.spend(0, BYTES_OF_CHARACTER * sum(map(len, patterns)))
            wild = [compiled(text) for text in patterns if is_wild(text)]
            literal = [text for text in patterns if not is_wild(text)]
            region = self.known.region or "?*"
            kinds = [
                *self._arns(f"s3express:{region}:?*:bucket/?*"),
                *self._arns(f"s3express:{region}:?*:accesspoint/?*"),
            ]
            self.computed[patterns] = examples(wild, literal, self.effort, kinds)
        return cast("list[str]", self.computed[patterns])

    def _arns(self, rest: str) -> list[Pattern]:
        """Return a pattern of ARNs for each partition that Resource elements name; else for one that other ARNs name.

        The partition of the Region is the only one if it is known.
        """
        rows = self.document.statements
        resources = [text for row in rows for text in row.resource.patterns]
        others = [
            text
            for row in rows
            for part in (row.principal.patterns, *(one.values for one in row.conditions))
            for text in part
        ]
        partitions = _partitions(resources) or _partitions(others)[:1] or ["aws"]
        if self.known.partition:
            partitions = [self.known.partition]
        return [compiled(f"arn:{name}:{rest}", ARN_WITHOUT_COLONS) for name in partitions]


def _searches(document: PolicyDocument, known: KnownContext, effort: Effort) -> list[_Search]:
    """Return a search for each request that a policy is asked about."""
    computed = dict[object, Any]()
    return [_Search(document, known, request, effort, computed) for request in _requests(document, effort)]


def _partitions(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(found[1] for found in map(_PARTITION.match, texts) if found))


def _of_service(request: ServiceRequest, unknown: _Unknown) -> list[Value]:
    """Return the only values that something can have in the request of a service; none if it can have any."""
    if unknown == _PRINCIPAL:
        return [(f"{SERVICE}{request.service}",)]
    if unknown == _RESOURCE:
        return [(request.resource,)]
    if unknown.key in request.values:
        return list(request.values[unknown.key])
    return [ABSENT] if unknown.key.startswith(request.absent) else []


def _principals(statements: Iterable[Statement]) -> list[str]:
    """Return a principal for each that is named, and one that is not. No service sends requests from a subnet."""
    patterns = chain.from_iterable(statement.principal.patterns for statement in statements)
    named = [pattern for pattern in patterns if pattern != "*" and not pattern.startswith(SERVICE)]
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


_NO_FIX = "change or delete the statement: with a condition on the endpoint or its VPC, it would deny something else, or nothing"


def _fix(statement: Statement, of_path: Sequence[Condition], search: _Search, of_requests: Sequence[_Search]) -> str:
    """Return how to change a statement so that it allows both paths, if that denies nothing else and leaves something.

    of_path are its conditions that depend on the path, and search is the one, of all requests, that found what it would
    deny.
    """
    known = search.known
    vpc_id = known.vpc_id or search.values.get(_Unknown(Path.ENDPOINT, _VPC), (_FORMS[_VPC] + OTHER[0],))[0]
    key, value = ("aws:SourceVpce", known.endpoint_id) if known.endpoint_id else ("aws:SourceVpc", vpc_id)
    operator = "StringNotEquals" if statement.is_deny else "StringEquals"
    more = Condition(operator, "", if_exists=False, key=key, values=(value,))
    kept = [row for row in statement.conditions if statement.is_deny or row not in of_path]
    fixed = replace(statement, conditions=(*kept, more))
    instead = [fixed] if statement.is_deny else [statement, fixed]
    searches = []
    for one in of_requests:
        rows = chain.from_iterable(instead if row is statement else [row] for row in one.request.statements)
        changed = _Request(one.request.session_mode, tuple(rows))
        searches.append(replace(search, request=changed, known=replace(known, vpc_id=vpc_id)))
    denies = any(one.finds(instead[0]) for one in searches)
    if denies or not any(replace(one, known=NOTHING_KNOWN).finds_what_applies(fixed, Path) for one in searches):
        return _NO_FIX
    if not (known.endpoint_id or known.vpc_id):
        more = replace(more, values=("<ID of the VPC>",))
    text = _json((*kept, more))
    if statement.is_deny:
        return f"replace its Condition by {text}"
    return f"add the same statement once more, without its Sid and with the Condition {text}"


def _json(conditions: Sequence[Condition]) -> str:
    """Return a Condition element. Values of the same operator and key are in one list."""
    block: dict[str, dict[str, list[str]]] = {}
    for condition in conditions:
        keys = block.setdefault(condition.operator_text, {})
        key = next((found for found in keys if found.lower() == condition.key.lower()), condition.key)
        keys[key] = [*keys.get(key, []), *condition.values]
    return json.dumps(block)
