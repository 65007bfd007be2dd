"""How a condition compares the value of a key, and which values of a key make a difference to conditions.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from itertools import chain, combinations, pairwise
from math import isfinite
from operator import eq, ge, gt, le, lt

from express_path.domain.policies.documents import Condition
from express_path.domain.policies.effort import BYTES_OF_CHARACTER, Effort
from express_path.domain.policies.patterns import (
    ARN,
    FILLER,
    Pattern,
    compiled,
    examples,
    is_like,
    is_like_arn,
    is_wild,
)

Value = tuple[str, ...]
"""The values of a key in a request; empty if the request does not have the key."""
ABSENT: Value = ()
_MOST_COMPARISONS = 50_000
_COLONS_OF_IPV6 = 8
"""More colons than an IPv6 address of eight groups has, so that no wildcard matches one."""
UNNAMED_VALUES = ("other", "another")
"""Values of a key that no policy has: two, so that two keys can have the same value or different ones."""


def holds(condition: Condition, value: Value, allowed: Sequence[str], effort: Effort) -> bool:
    """Return whether a condition holds for the value of its key. allowed are its values, with policy variables replaced.

    An absent key meets negated operators, IfExists, and ForAllValues, and no others
    (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-single-vs-multi-valued-context-keys.html).
    """
    if condition.operator == "Null":
        return any((word.lower() == "true") is (value == ABSENT) for word in allowed)
    positive = condition.positive
    is_negated = positive != condition.operator
    if value == ABSENT:
        return (
            condition.if_exists
            or condition.quantifier == "ForAllValues"
            or (is_negated and condition.quantifier != "ForAnyValue")
        )
    compare = _COMPARISONS[positive]
    if positive in _WITH_WILDCARDS:
        effort.match(value, allowed)
    effort.spend(len(value) * len(allowed))
    met = [any(compare(text, wanted) for wanted in allowed) is not is_negated for text in value]
    if condition.quantifier == "ForAllValues" or (is_negated and not condition.quantifier):
        return all(met)
    return any(met)


def values_that_matter(
    conditions: Iterable[Condition], effort: Effort, *, of_addresses: bool = False, frames: Sequence[Pattern] = ()
) -> list[str]:
    """Return values of one key, so that each way in which conditions can compare to one value has one.

    conditions have no policy variables. of_addresses: the key's values are IP addresses. If there are frames, every value
    matches one of them. Raise PolicyError.
    """
    known = list(dict.fromkeys(conditions))
    characters = sum(sum(map(len, condition.values)) for condition in known)
    effort.spend(0, BYTES_OF_CHARACTER * characters)
    texts = dict.fromkeys([*chain.from_iterable(map(_texts, known)), *_beside_limits(known)])
    patterns = list(dict.fromkeys(chain.from_iterable(map(_patterns, known))))
    if of_addresses:
        return _addresses_that_matter(texts, patterns, effort, frames)
    values = examples(patterns, texts, effort, frames)
    if not frames:
        values = [*values, *UNNAMED_VALUES]
    return list(dict.fromkeys(values))


def _addresses_that_matter(
    texts: Iterable[str], patterns: Sequence[Pattern], effort: Effort, frames: Sequence[Pattern]
) -> list[str]:
    """Return the texts that are addresses, and an address for each set of patterns that an address can match."""
    known = dict.fromkeys(texts)
    effort.spend(10 * len(known))
    forms = [compiled("?*.?*.?*.?*"), compiled("?*:?*:?*:?*:?*:?*:?*:?*", _COLONS_OF_IPV6)]
    filled = [text.replace(FILLER, "1") for text in examples([*patterns, *forms], known, effort, frames)]
    return list(dict.fromkeys([*filter(_address, filled), *SOME_ADDRESSES]))


def different(values: Sequence[str], conditions: Sequence[Condition], effort: Effort) -> Sequence[str]:
    """Return one of all values that compare alike. conditions are all of a key; they have no policy variables.

    This only saves later work, so it is left out where it would be much work itself.
    """
    if len(values) * sum(1 + len(condition.values) for condition in conditions) > _MOST_COMPARISONS:
        return values
    compared = {
        tuple(holds(row, (value,), row.values, effort) for row in conditions): value for value in reversed(values)
    }
    return list(compared.values())


def sets_of(values: Sequence[str], count: int) -> Iterator[Value]:
    """Yield sets of at most so many values. A condition needs one value of a set to show whether it holds."""
    return chain.from_iterable(combinations(values, size) for size in range(1, max(count, 1) + 1))


def _texts(condition: Condition) -> Iterator[str]:
    """Yield values on each side of every limit of a condition that has no wildcards, and those that it names."""
    operator = condition.positive
    if operator == "Bool":
        yield from ("true", "false")
    for text in () if operator == "Null" else condition.values:
        if operator == "IpAddress":
            yield from _around(text)
        elif operator not in _ORDERED and (operator not in _WITH_WILDCARDS or not is_wild(text)):
            yield text


def _beside_limits(conditions: Iterable[Condition]) -> Iterator[str]:
    """Yield the numbers and dates that conditions name, and one number below, between, and above each two of them."""
    readers = ((_ORDERED.get(row.positive), row.values) for row in conditions)
    read = {limit for reader, texts in readers if reader for limit in map(reader, texts)}
    limits = sorted(limit for limit in read if limit is not None)
    if limits:
        between = ((lower + upper) / 2 for lower, upper in pairwise(limits))
        yield from (f"{number:.15g}" for number in (limits[0] - 1, *limits, *between, limits[-1] + 1))


def _patterns(condition: Condition) -> Iterator[Pattern]:
    """Yield the values of a condition that match more than one text."""
    if condition.positive == "StringEqualsIgnoreCase":
        yield from (compiled(text, any_case=True) for text in condition.values)
    if condition.positive in _WITH_WILDCARDS:
        colons = 0 if condition.positive == "StringLike" else ARN
        yield from (compiled(text, colons) for text in condition.values if is_wild(text))


_WITH_WILDCARDS = ("StringLike", "ArnLike", "ArnEquals")


def unreadable(condition: Condition) -> str:
    """Return what is wrong with the first value of a condition that its operator cannot compare; empty if there is none.

    AWS compares the parts of ARNs, and does not say whether a * that stands for all of them matches any ARN or none.
    """
    read: Callable[[str], object] | None = _ORDERED.get(condition.positive)
    if condition.positive == "IpAddress":
        read = _network
    elif condition.positive in ("ArnLike", "ArnEquals"):
        read = _pattern_of_arn
    wrong = next((text for text in condition.values if read is not None and read(text) is None), None)
    return "" if wrong is None else f"{condition.operator_text} {condition.key} cannot be compared with {wrong!r:.80}"


def is_public_ipv4(text: str) -> bool:
    """Return whether a text is an IPv4 address of the internet, which a NAT gateway may have."""
    address = _address(text)
    return isinstance(address, IPv4Address) and not any(address in block for block in _NOT_PUBLIC)


_NOT_PUBLIC = tuple(
    IPv4Network(block)
    for block in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.168.0.0/16", "224.0.0.0/3"),
    )
)
"""Addresses that a NAT gateway's public address never is
(https://www.iana.org/assignments/iana-ipv4-special-registry/iana-ipv4-special-registry.xhtml)."""
SOME_ADDRESSES = ("203.0.113.1", "10.0.0.1", "fd00::1", *(str(block[-1] + 1) for block in _NOT_PUBLIC[:-1]))
"""Addresses for keys that no condition names an address for: among them, the first after each block that is not public."""


def _around(block: str) -> Iterator[str]:
    network = ip_network(block, strict=False)  # `unreadable` has found what is none
    first, last = network[0], network[-1]
    yield from (str(first), str(last))
    if int(first) > 0:
        yield str(first - 1)
    if int(last) < 2**network.max_prefixlen - 1:
        yield str(last + 1)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _seconds(text: str) -> float | None:
    """Return a date as seconds since 1970. IAM accepts such seconds, and ISO 8601 with a year or a month alone.

    https://www.w3.org/TR/NOTE-datetime
    """
    month = re.fullmatch(r"(\d{4})(?:-(\d\d))?", text)
    number = None if month else _number(text)
    if number is not None:
        return number
    try:
        time = datetime.fromisoformat(f"{month[1]}-{month[2] or '01'}-01" if month else text)
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _pattern_of_arn(text: str) -> str | None:
    return None if text.strip("*") == "" else text


@lru_cache(maxsize=2_000)
def _network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


@lru_cache(maxsize=2_000)
def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _is_in(value: str, block: str) -> bool:
    address, network = _address(value), _network(block)
    return address is not None and network is not None and address in network


def _is_same_in_any_case(value: str, wanted: str) -> bool:
    return value.lower() == wanted.lower()


def _compared(
    read: Callable[[str], float | None], compare: Callable[[float, float], bool]
) -> Callable[[str, str], bool]:
    def both(value: str, wanted: str) -> bool:
        left, right = read(value), read(wanted)
        return left is not None and right is not None and compare(left, right)

    return both


_ORDER = {"Equals": eq, "LessThan": lt, "LessThanEquals": le, "GreaterThan": gt, "GreaterThanEquals": ge}
_ORDERED: Mapping[str, Callable[[str], float | None]] = {
    f"{kind}{name}": read for kind, read in (("Numeric", _number), ("Date", _seconds)) for name in _ORDER
}
"""How the operators that compare numbers and dates read a value."""
_COMPARISONS: Mapping[str, Callable[[str, str], bool]] = {
    **dict.fromkeys(("StringEquals", "BinaryEquals"), eq),
    **dict.fromkeys(("StringEqualsIgnoreCase", "Bool"), _is_same_in_any_case),
    **dict.fromkeys(("ArnEquals", "ArnLike"), is_like_arn),
    "StringLike": is_like,
    "IpAddress": _is_in,
    **{f"Numeric{name}": _compared(_number, compare) for name, compare in _ORDER.items()},
    **{f"Date{name}": _compared(_seconds, compare) for name, compare in _ORDER.items()},
}
