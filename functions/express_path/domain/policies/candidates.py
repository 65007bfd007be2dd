"""Which values to try for what is not known of a request, so that each way in which a policy may decide has one."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import cast

from express_path.domain.policies.conditions import (
    ABSENT,
    UNNAMED_VALUES,
    Value,
    different,
    is_public_ipv4,
    sets_of,
    values_that_matter,
)
from express_path.domain.policies.documents import SERVICE, Condition, Statement, account_of
from express_path.domain.policies.effort import BYTES_OF_CHARACTER
from express_path.domain.policies.keys import (
    AFTER,
    ALWAYS,
    CURRENT_TIME,
    EPOCH_TIME,
    ID_PREFIXES,
    INSTANCE_IP,
    OF_INSTANCES,
    OF_SERVICES,
    ONLY_SOME_ENDPOINTS,
    PRINCIPAL,
    PRINCIPAL_ARN,
    REGION,
    RESOURCE,
    SECURE_TRANSPORT,
    SETS_OF_PATH,
    SOURCE_IP,
    VARIABLE,
    VPC,
    VPC_ARN,
    VPC_IP,
    VPCE,
    RequestPath,
    UnknownValue,
    variables_in,
)
from express_path.domain.policies.patterns import (
    ARN_WITHOUT_COLONS,
    FILLER,
    Pattern,
    compiled,
    examples,
    is_wild,
)
from express_path.domain.policies.requests import ServiceRequest
from express_path.domain.policies.values import PolicyQuestion, Values

_ROLE = f"arn:aws:iam::{{}}:role/{FILLER}"
_PARTITION = re.compile(r"arn:(aws(?:-[a-z]+)*):")


class Candidates:
    """The values to try for what is unknown. They depend on the values that are tried for other unknowns."""

    def __init__(self, question: PolicyQuestion, values: Values) -> None:
        """Choose for a question."""
        self._document = question.document
        self._known = question.known
        self._request = question.request
        self._service_request = question.service_request
        self._effort = question.effort
        self._computed = question.computed
        self._values = values

    def needed_first(self, unknown: UnknownValue) -> UnknownValue:
        """Return what to try values for first: what the values of a key are compared to, or depend on."""
        waiting = [unknown]
        while (needed := self._compared_to(waiting[-1])) and needed not in waiting:
            waiting.append(needed)
        return waiting[-1]

    def values_for(self, unknown: UnknownValue) -> list[Value]:
        """Return the values to try."""
        if self._service_request:
            values_of_service = _of_service(self._service_request, unknown)
            if values_of_service:
                return values_of_service
        if unknown == PRINCIPAL:
            return [(principal,) for principal in _principals(self._request.statements)]
        if unknown == RESOURCE:
            return [(resource,) for resource in self._resources()]
        path, key = unknown
        given = self._given(path, key)
        if given:
            return given
        conditions = self._conditions_on(key)
        is_set = any(condition.quantifier for condition in conditions) and (path is None or key in SETS_OF_PATH)
        values = []
        for value in sets_of(self._single_values(unknown), len(conditions) if is_set else 1):
            self._effort.spend()
            values.append(value)
        may_be_absent = path is None and key not in ALWAYS
        if may_be_absent or key.startswith(ONLY_SOME_ENDPOINTS):
            values.append(ABSENT)
        return values

    def _compared_to(self, unknown: UnknownValue) -> UnknownValue | None:
        """Return another key without a value, whose value says which values of this one matter."""
        keys = [AFTER[unknown.key]] if unknown.key in AFTER else []
        if self._document.has_variables:
            keys += [key for key in variables_in(self._texts_about(unknown)) if AFTER.get(key) != unknown.key]
        paths = [unknown.path] if unknown.path else list(RequestPath)
        for key in keys:
            for path in paths:
                value = self._values.of_key(key, path)
                if isinstance(value, UnknownValue) and value != unknown:
                    return value
        return None

    def _texts_about(self, unknown: UnknownValue) -> list[str]:
        """Return what the policy says the resource or the value of a key is like."""
        if unknown == RESOURCE:
            return [text for statement in self._request.statements for text in statement.resource.patterns]
        return [text for condition in self._conditions_on(unknown.key) for text in condition.values]

    def _conditions_on(self, key: str) -> Sequence[Condition]:
        conditions = self._request.conditions.get(key, ())
        self._effort.spend(len(conditions), sum(len(condition.values) for condition in conditions))
        return conditions

    # --- values that are given

    def _given(self, path: RequestPath | None, key: str) -> list[Value]:
        """Return the only values that a key can have, as far as that is known."""
        if path is RequestPath.NAT:
            return [(address,) for address in self._known.nat_addresses]
        if key in OF_SERVICES:
            return [("false",)]
        if key == SECURE_TRANSPORT:
            return [("true",), ("false",)]
        if self._known.now and key == CURRENT_TIME:
            return [(self._known.now.isoformat(),)]
        if self._known.now and key == EPOCH_TIME:
            return [(str(int(self._known.now.timestamp())),)]
        if key in OF_INSTANCES:
            return self._given_by_endpoint(key)
        if key == VPC and self._known.vpc_id:
            return [(self._known.vpc_id,)]
        if key == VPCE and self._known.endpoint_id:
            return [(self._known.endpoint_id,)]
        if key == REGION:
            return [(self._known.region,)] if self._known.region else self._regions_beside_vpc()
        return []

    def _given_by_endpoint(self, key: str) -> list[Value]:
        """Return the values of a key of an instance's credentials: the key of the endpoint path has the same, if any."""
        value = self._values.tried.get(UnknownValue(RequestPath.ENDPOINT, OF_INSTANCES[key]), ABSENT)
        if key == INSTANCE_IP and ":" in "".join(value):
            return [ABSENT]
        return [value, ABSENT]

    def _regions_beside_vpc(self) -> list[Value]:
        """Return the Regions that statements name together with the VPC.

        Who names a VPC together with Regions knows its Region, and its endpoint carries only requests of that one.
        """
        regions: list[Value] = []
        for statement in self._request.statements:
            conditions = statement.conditions
            if any(condition.key.lower() == VPC and self._vpc_id() in condition.values for condition in conditions):
                on_region = [condition for condition in conditions if condition.key.lower() == REGION]
                regions += [(region,) for condition in on_region for region in condition.values]
        return regions

    # --- values that policies tell apart

    def _single_values(self, unknown: UnknownValue) -> list[str]:
        """Return values of a key so that each way in which a value compares to what the policy says has one."""
        path, key = unknown
        equal_keys = [key, *(instance_key for instance_key, same_key in OF_INSTANCES.items() if same_key == key)]
        conditions = self._comparisons(path, key, equal_keys)
        frames = self._frames(key)
        of_addresses = key in (SOURCE_IP, VPC_IP)
        is_variable = not self._request.variables.isdisjoint(equal_keys)
        question = (path is RequestPath.NAT, of_addresses, is_variable, tuple(conditions), tuple(frames))
        if question not in self._computed:
            values = values_that_matter(conditions, self._effort, of_addresses=of_addresses, frames=frames)
            if path is RequestPath.NAT:
                values = [value for value in values if is_public_ipv4(value)]
            if not is_variable and not any(FILLER in text for condition in conditions for text in condition.values):
                values = [*different(values, conditions, self._effort)]
            self._computed[question] = values
        return cast("list[str]", self._computed[question])

    def _comparisons(self, path: RequestPath | None, key: str, equal_keys: Sequence[str]) -> list[Condition]:
        """Return the conditions that tell values of a key apart, without policy variables.

        equal_keys have the same values as key, which is one of them.
        """
        compared_keys = self._keys_compared_with(equal_keys)
        paths = [path] if path else list(RequestPath)
        conditions: dict[Condition, None] = {}
        for condition_key in (*equal_keys, *compared_keys):
            for condition in self._conditions_on(condition_key):
                for on_path in paths:
                    values = self._with_variables_replaced(condition.values, on_path)
                    conditions[replace(condition, values=values)] = None
        compared_values = [*self._given_or_tried(compared_keys)]
        for compared_key in compared_keys:
            if compared_key in ID_PREFIXES:
                compared_values += [ID_PREFIXES[compared_key] + text for text in UNNAMED_VALUES]
        is_compared_value = Condition("StringEquals", "", if_exists=False, key=key, values=tuple(compared_values))
        comparisons = [*conditions, is_compared_value]
        if key == VPC:
            comparisons += self._comparisons_of_vpc_arns()
        return comparisons

    def _comparisons_of_vpc_arns(self) -> Iterable[Condition]:
        """Yield the conditions on the VPC's ARN as conditions on the VPC's ID, with which the ARN ends."""
        for condition in self._conditions_on(VPC_ARN):
            for arn in self._with_variables_replaced(condition.values, RequestPath.ENDPOINT):
                vpc_id = arn.rpartition("/")[2]
                yield replace(condition, operator="StringLike", values=(vpc_id,))

    def _frames(self, key: str) -> list[Pattern]:
        """Return the patterns of which every value of a key matches one; none if a value may be any text."""
        if key == VPC_ARN:
            return self._arns(f"ec2:?*:?*:vpc/{self._vpc_id()}")
        if key == PRINCIPAL_ARN:
            return self._arns("iam::?*:?*")
        if key in ID_PREFIXES:
            return [compiled(f"{ID_PREFIXES[key]}?*")]
        return []

    def _keys_compared_with(self, keys: Sequence[str]) -> list[str]:
        """Return the other keys that conditions compare with keys, by a policy variable."""
        if self._request.variables.isdisjoint(keys):
            return []
        return [key for key in self._request.conditions if key not in keys and self._has_variable(key, keys)]

    def _has_variable(self, key: str, names: Sequence[str]) -> bool:
        """Return whether a condition on a key has a policy variable of one of these names in its values."""
        variables = variables_in(self._texts_about(UnknownValue(None, key)))
        return not set(names).isdisjoint(variables)

    def _given_or_tried(self, keys: Sequence[str]) -> tuple[str, ...]:
        """Return the values of keys that are given or tried."""
        values: list[Value] = []
        for key in keys:
            tried = (self._values.of_key(key, path) for path in RequestPath)
            values += [value for value in tried if not isinstance(value, UnknownValue)]
        for key in keys:
            values += self._given(RequestPath.ENDPOINT, VPC if key == VPC_ARN else key)
        return tuple(dict.fromkeys(chain.from_iterable(values)))

    def _vpc_id(self) -> str:
        """Return the ID of the endpoint's VPC, or the one that is tried; else a pattern for any."""
        if self._known.vpc_id:
            return self._known.vpc_id
        tried = self._values.tried.get(UnknownValue(RequestPath.ENDPOINT, VPC))
        return tried[0] if tried else "*"

    def _with_variables_replaced(self, texts: tuple[str, ...], path: RequestPath) -> tuple[str, ...]:
        """Return texts with the values that are tried in place of variables, and with others where there is none yet."""
        replaced = self._values.replaced(texts, path)
        if isinstance(replaced, UnknownValue):
            replaced = tuple(VARIABLE.sub(FILLER, text) for text in texts)
        return tuple(dict.fromkeys(replaced))

    def _resources(self) -> list[str]:
        """Return ARNs of directory buckets and access points, so that each set of patterns that match one has one."""
        # no Resource has a variable whose value depends on the path
        patterns = self._with_variables_replaced(tuple(self._texts_about(RESOURCE)), RequestPath.NAT)
        if patterns not in self._computed:
            self._effort.spend(0, BYTES_OF_CHARACTER * sum(map(len, patterns)))
            wild = [compiled(text) for text in patterns if is_wild(text)]
            literal = [text for text in patterns if not is_wild(text)]
            region = self._known.region or "?*"
            kinds = [
                *self._arns(f"s3express:{region}:?*:bucket/?*"),
                *self._arns(f"s3express:{region}:?*:accesspoint/?*"),
            ]
            self._computed[patterns] = examples(wild, literal, self._effort, kinds)
        return cast("list[str]", self._computed[patterns])

    def _arns(self, after_partition: str) -> list[Pattern]:
        """Return a pattern of ARNs for each partition that Resource elements name; else for one that other ARNs name.

        The partition of the Region is the only one if it is known.
        """
        if self._known.partition:
            partitions = [self._known.partition]
        else:
            partitions = _partitions_in(_resource_texts(self._document.statements))
            partitions = partitions or _partitions_in(_other_texts(self._document.statements))[:1] or ["aws"]
        return [compiled(f"arn:{name}:{after_partition}", ARN_WITHOUT_COLONS) for name in partitions]


def _resource_texts(statements: Iterable[Statement]) -> Iterable[str]:
    return chain.from_iterable(statement.resource.patterns for statement in statements)


def _other_texts(statements: Iterable[Statement]) -> Iterable[str]:
    for statement in statements:
        yield from statement.principal.patterns
        for condition in statement.conditions:
            yield from condition.values


def _partitions_in(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(match[1] for match in map(_PARTITION.match, texts) if match))


def _of_service(request: ServiceRequest, unknown: UnknownValue) -> list[Value]:
    """Return the only values that something can have in the request of a service; none if it can have any."""
    if unknown == PRINCIPAL:
        return [(f"{SERVICE}{request.service}",)]
    if unknown == RESOURCE:
        return [(request.resource,)]
    if unknown.key in request.values:
        return list(request.values[unknown.key])
    return [ABSENT] if unknown.key.startswith(request.absent) else []


def _principals(statements: Iterable[Statement]) -> list[str]:
    """Return a principal for each that is named, and one that is not. No service sends requests from a subnet."""
    patterns = chain.from_iterable(statement.principal.patterns for statement in statements)
    named = [pattern for pattern in patterns if pattern != "*" and not pattern.startswith(SERVICE)]
    account_ids = [account_of(pattern) for pattern in named if account_of(pattern)]
    return list(dict.fromkeys([*named, *map(_ROLE.format, account_ids), _ROLE.format("000000000000")]))
