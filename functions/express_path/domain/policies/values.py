"""The values that are tried for what is not known of a request."""

from dataclasses import dataclass
from typing import Any

from express_path.domain.policies.conditions import ABSENT, Value
from express_path.domain.policies.documents import PolicyDocument
from express_path.domain.policies.effort import Effort
from express_path.domain.policies.keys import (
    ESCAPES,
    SESSION_MODE,
    SOURCE_IP,
    VARIABLE,
    KnownContext,
    RequestPath,
    UnknownValue,
    is_of_path,
)
from express_path.domain.policies.requests import Request, ServiceRequest


@dataclass(frozen=True, slots=True)
class PolicyQuestion:
    """A request about which a policy is asked, and what is known of it.

    computed is shared by all questions about a document: most values that are tried do not change which others matter, or
    have been compared before.
    """

    document: PolicyDocument
    known: KnownContext
    request: Request
    effort: Effort
    computed: dict[object, Any]
    service_request: ServiceRequest | None = None


class Values:
    """The values of what is unknown, as far as some are tried, and what a policy says with them."""

    def __init__(self, question: PolicyQuestion) -> None:
        """Try none yet."""
        self._question = question
        self._effort = question.effort
        self.tried: dict[UnknownValue, Value] = {}

    def of(self, unknown: UnknownValue) -> Value | UnknownValue:
        """Return the value that is tried for what is unknown, if there is one yet."""
        return self.tried.get(unknown, unknown)

    def of_key(self, key: str, path: RequestPath) -> Value | UnknownValue:
        """Return the value of a key on a path, or the unknown whose value is missing."""
        if self._question.service_request:
            return self.of(UnknownValue(None, key))
        if key == SESSION_MODE:
            return (self._question.request.session_mode,) if self._question.request.session_mode else ABSENT
        if not is_of_path(key):
            return self.of(UnknownValue(None, key))
        if (key == SOURCE_IP) is (path is RequestPath.ENDPOINT):
            return ABSENT
        return self.of(UnknownValue(path, key))

    def replaced(self, texts: tuple[str, ...], path: RequestPath) -> tuple[str, ...] | UnknownValue:
        """Return texts of a policy with its variables replaced, or the variable whose value is missing.

        A text with a variable that has no value matches nothing, so it is left out.
        """
        if not self._question.document.has_variables or not any("${" in text for text in texts):
            return texts
        replaced = []
        for text in texts:
            values = []
            for name, default in VARIABLE.findall(text):
                value = (name,) if name in ESCAPES else self.of_key(name.strip().lower(), path)
                if isinstance(value, UnknownValue):
                    return value
                values.append(value[0] if value else default)
            if all(values):
                self._effort.spend(1, len(text) + sum(map(len, values)))
                in_order = iter(values)
                replaced.append(VARIABLE.sub(lambda _, in_order=in_order: next(in_order), text))  # type: ignore[misc]
        return tuple(replaced)
