"""The conditions of filter: and, or, parentheses, equality, membership, and isIpv4InSubnet.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-operations-functions.html.
"""

import re
from collections.abc import Callable, Mapping
from ipaddress import AddressValueError, IPv4Address, IPv4Network

Record = Mapping[str, str]
Condition = Callable[[Record], bool]

_TOKEN = re.compile(r'\s*(?:(?P<word>@?\w+)|"(?P<text>[^"]*)"|(?P<sign>[()\[\],=]))')


def condition(text: str) -> Condition:
    """Return a condition as a function of a record. NotImplementedError for one that is not understood here."""
    parser = _Parser(text)
    found = parser.any_of()
    if parser.rest:
        raise NotImplementedError(f"the sandbox does not understand {parser.rest[0]!r} in the condition {text}")
    return found


class _Parser:
    """Reads a condition from left to right; `and` binds closer than `or`."""

    def __init__(self, text: str) -> None:
        self.rest: list[str] = []
        place = 0
        while text[place:].strip():
            token = _TOKEN.match(text, place)
            if token is None:
                raise NotImplementedError(f"the sandbox does not understand the condition {text[place:]}")
            self.rest.append(token.group().strip())
            place = token.end()

    def any_of(self) -> Condition:
        parts = [self.all_of()]
        while self._next_is("or"):
            parts.append(self.all_of())
        return lambda record: any(part(record) for part in parts)

    def all_of(self) -> Condition:
        parts = [self.one()]
        while self._next_is("and"):
            parts.append(self.one())
        return lambda record: all(part(record) for part in parts)

    def one(self) -> Condition:
        if self._next_is("("):
            inner = self.any_of()
            self._expect(")")
            return inner
        if self._next_is("isIpv4InSubnet"):
            return self._in_subnet()
        field = self._take()
        if self._next_is("="):
            wanted = self._string()
            return lambda record: record.get(field) == wanted
        self._expect("in")
        listed = self._list()
        return lambda record: record.get(field) in listed

    def _in_subnet(self) -> Condition:
        self._expect("(")
        field = self._take()
        self._expect(",")
        subnet = IPv4Network(self._string())
        self._expect(")")
        return lambda record: _is_inside(record.get(field, ""), subnet)

    def _list(self) -> list[str]:
        self._expect("[")
        found = [self._string()]
        while self._next_is(","):
            found.append(self._string())
        self._expect("]")
        return found

    def _string(self) -> str:
        token = self._take()
        if not token.startswith('"'):
            raise NotImplementedError(f"the sandbox expects a string, not {token}")
        return token.strip('"')

    def _next_is(self, token: str) -> bool:
        found = self.rest[:1] == [token]
        if found:
            self.rest.pop(0)
        return found

    def _expect(self, token: str) -> None:
        if not self._next_is(token):
            raise NotImplementedError(f"the sandbox expects {token}, not {' '.join(self.rest[:1]) or 'the end'}")

    def _take(self) -> str:
        if not self.rest:
            raise NotImplementedError("the sandbox expects more of the condition")
        return self.rest.pop(0)


def _is_inside(address: str, subnet: IPv4Network) -> bool:
    try:
        return IPv4Address(address) in subnet
    except AddressValueError:
        return False
