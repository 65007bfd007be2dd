"""What a gateway endpoint changes for policies: which statements would deny requests that were possible on the NAT path.

On the NAT path, aws:SourceIp is a public address, and the keys of endpoints are absent. On the endpoint path, it is the
other way around (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html). The client calls
S3 Express itself, with no credentials of an instance or with those of its own. Everything else about a request is unknown,
and the same on both paths. A statement would deny if any request of any values shows it.

The same search finds whether a policy may allow the request of an AWS service, which takes neither path.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from express_path.domain.policies.conditions import UNNAMED_VALUES
from express_path.domain.policies.documents import Condition, PolicyDocument, Statement
from express_path.domain.policies.effort import Effort
from express_path.domain.policies.keys import (
    ID_PREFIXES,
    NOTHING_KNOWN,
    VPC,
    KnownContext,
    RequestPath,
    UnknownValue,
    depends_on_path,
    is_of_path,
    variables_in,
)
from express_path.domain.policies.requests import Request, ServiceRequest, is_about, refuse_unreadable
from express_path.domain.policies.search import Search, searches_of
from express_path.domain.policies.values import PolicyQuestion
from express_path.errors import PolicyError


def may_allow(document: PolicyDocument, request: ServiceRequest) -> bool:
    """Return whether a policy allows the request of a service, whatever is unknown of it. Raise PolicyError."""
    effort = Effort(document.source)
    action = request.action.lower()
    statements = tuple(statement for statement in document.statements if is_about(statement.action, action, effort))
    refuse_unreadable(document, statements)
    question = PolicyQuestion(document, NOTHING_KNOWN, Request("", statements), effort, {}, service_request=request)
    return Search(question).finds_what_is_allowed()


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
    in_resources = variables_in(pattern for statement in document.statements for pattern in statement.resource.patterns)
    if document.has_variables and any(map(is_of_path, in_resources)):
        raise PolicyError(document.source, "a Resource has a policy variable whose value depends on the path")
    path_conditions = {}
    for number, statement in enumerate(document.statements):
        conditions = [condition for condition in statement.conditions if depends_on_path(condition, document)]
        if conditions:
            path_conditions[number] = conditions
    if not path_conditions:
        return []
    searches = searches_of(document, known, effort)
    denied = []
    for number, conditions in path_conditions.items():
        statement = document.statements[number]
        search = next((search for search in searches if search.finds_what_is_lost(statement)), None)
        if search:
            fix = _fix(statement, conditions, search, searches)
            denied.append(Denial(document.source, statement, tuple(conditions), fix))
    return denied


def restrictions(
    endpoint_policy: PolicyDocument, known: KnownContext = NOTHING_KNOWN, effort: Effort | None = None
) -> list[Denial]:
    """Return the statements of an endpoint's policy that restrict requests to S3 Express: no such policy applies to a NAT.

    These are Deny statements that apply to any request, and, if any request is not allowed, all Allow statements. Raise
    PolicyError.
    """
    effort = effort or Effort(endpoint_policy.source)
    searches = searches_of(endpoint_policy, known, effort)
    allows_too_little = any(search.finds_what_is_not_allowed() for search in searches)
    restricting = []
    for statement in endpoint_policy.statements:
        if statement.is_deny:
            fix = "delete the statement"
            restricts = any(search.finds_what_applies(statement, [RequestPath.ENDPOINT]) for search in searches)
        else:
            fix = "add a statement that allows every principal every action on every resource"
            restricts = allows_too_little
        if restricts:
            restricting.append(Denial(endpoint_policy.source, statement, statement.conditions, fix))
    return restricting


def allows_no_session(
    endpoint_policy: PolicyDocument, known: KnownContext = NOTHING_KNOWN, effort: Effort | None = None
) -> bool:
    """Return whether an endpoint's policy allows no CreateSession, without which no object can be read or written.

    Raise PolicyError. https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateSession.html
    """
    searches = searches_of(endpoint_policy, known, effort or Effort(endpoint_policy.source))
    return not any(search.question.request.session_mode and search.finds_what_is_allowed() for search in searches)


_NO_FIX = "change or delete the statement: with a condition on the endpoint or its VPC, it would deny something else, or nothing"


def _fix(statement: Statement, path_conditions: Sequence[Condition], search: Search, searches: Sequence[Search]) -> str:
    """Return how to change a statement so that it allows both paths, if that denies nothing else and leaves something.

    path_conditions are its conditions that depend on the path. search is the one of the searches, one for each request,
    that found what it would deny.
    """
    known = search.question.known
    vpc_id = known.vpc_id or _tried_vpc_id(search)
    if known.endpoint_id:
        key, value = "aws:SourceVpce", known.endpoint_id
    else:
        key, value = "aws:SourceVpc", vpc_id
    operator = "StringNotEquals" if statement.is_deny else "StringEquals"
    added = Condition(operator, "", if_exists=False, key=key, values=(value,))
    if statement.is_deny:
        kept = list(statement.conditions)
    else:
        kept = [condition for condition in statement.conditions if condition not in path_conditions]
    fixed = replace(statement, conditions=(*kept, added))
    replacement = [fixed] if statement.is_deny else [statement, fixed]
    questions = []
    for request in (request_search.question.request for request_search in searches):
        changed = Request(request.session_mode, tuple(_with_replacement(request.statements, statement, replacement)))
        questions.append(replace(search.question, request=changed, known=replace(known, vpc_id=vpc_id)))
    still_denies = any(Search(question).finds_what_is_lost(replacement[0]) for question in questions)
    if still_denies or not any(_applies_anywhere(fixed, question) for question in questions):
        return _NO_FIX
    if not (known.endpoint_id or known.vpc_id):
        added = replace(added, values=("<ID of the VPC>",))
    text = _json((*kept, added))
    if statement.is_deny:
        return f"replace its Condition by {text}"
    return f"add the same statement once more, without its Sid and with the Condition {text}"


def _tried_vpc_id(search: Search) -> str:
    """Return the ID of the endpoint's VPC with which a search found something, or any if the ID did not matter."""
    tried = search.values.tried.get(UnknownValue(RequestPath.ENDPOINT, VPC))
    return tried[0] if tried else ID_PREFIXES[VPC] + UNNAMED_VALUES[0]


def _with_replacement(
    statements: Sequence[Statement], replaced: Statement, replacement: Sequence[Statement]
) -> Iterator[Statement]:
    for statement in statements:
        if statement is replaced:
            yield from replacement
        else:
            yield statement


def _applies_anywhere(statement: Statement, question: PolicyQuestion) -> bool:
    """Return whether a statement applies to any request of any network, on any path."""
    return Search(replace(question, known=NOTHING_KNOWN)).finds_what_applies(statement, list(RequestPath))


def _json(conditions: Sequence[Condition]) -> str:
    """Return a Condition element. Values of the same operator and key are in one list."""
    block: dict[str, dict[str, list[str]]] = {}
    for condition in conditions:
        keys = block.setdefault(condition.operator_text, {})
        key = next((name for name in keys if name.lower() == condition.key.lower()), condition.key)
        keys[key] = [*keys.get(key, []), *condition.values]
    return json.dumps(block)
