"""An independent judge of policies: it tries every request and every context of a small universe, on both paths.

It shares nothing with the product. What it assumes about requests from a client in a subnet:
- A request through a NAT has a public IPv4 address as aws:SourceIp, and no key that exists through endpoints only.
- A request through the endpoint has aws:SourceVpc, aws:SourceVpcArn, aws:SourceVpce, and aws:VpcSourceIp, but no
  aws:SourceIp. Newer keys (aws:Vpce...) may be there or not. The ARN names the same VPC as aws:SourceVpc. IDs of VPCs
  begin with vpc-, and those of endpoints with vpce-.
- The client calls S3 itself: no AWS service calls in its name, and it is no AWS service.
- Credentials of an EC2 instance are those of the client: of the same VPC, and of the same private address.
- The Region is that of the endpoint, and of every resource. A VPC that a statement names together with Regions is in one
  of these.
- Every request is signed, so it has a principal's ARN and what else ALWAYS lists.
- Every other key is absent, or has any value, and that is the same on both paths.
- A policy variable without a value matches nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from ipaddress import IPv4Address, ip_address, ip_network
from itertools import chain, combinations, product
from math import prod
from typing import Any

Json = Mapping[str, Any]
Values = tuple[str, ...]
"""The values of a key; empty if it is absent."""
Context = Mapping[str, Values]

ENDPOINT_KEYS = ("aws:sourcevpc", "aws:sourcevpce", "aws:sourcevpcarn", "aws:vpcsourceip")
OF_INSTANCES = {"aws:ec2instancesourcevpc": "aws:sourcevpc", "aws:ec2instancesourceprivateipv4": "aws:vpcsourceip"}
OF_SERVICES = ("aws:principalisawsservice", "aws:viaawsservice")
REGION = "aws:requestedregion"
ALWAYS = ("aws:principalarn", "aws:securetransport", REGION)
ACTIONS = (
    "CreateSession",
    *("CreateBucket", "DeleteBucket", "GetBucketPolicy", "PutBucketPolicy", "DeleteBucketPolicy", "TagResource"),
    *("ListAllMyDirectoryBuckets", "PutLifecycleConfiguration", "GetEncryptionConfiguration", "CreateAccessPoint"),
    *("PutAccessPointPolicy", "AnyActionThatComesLater"),
)
FILLS = ("", "q", "qq")
BUCKET = "arn:aws:s3express:us-east-1:111122223333:bucket/some--use1-az4--x-s3"
PRINCIPAL_ARN = re.compile(r"arn:aws:iam::[^:]+:[^:]+")
VARIABLE = re.compile(r"\$\{([^},]+)(?:,\s*'([^']*)')?\}")


@dataclass(frozen=True)
class Known:
    """What is known of the paths; empty if any value is possible."""

    vpc: str = ""
    endpoint: str = ""
    address: Sequence[str] = ()
    region: str = ""


@dataclass(frozen=True)
class Request:
    """One concrete request."""

    action: str
    mode: str
    resource: str
    principal: str


@dataclass
class Judge:
    """Tries everything for one policy document."""

    document: Json
    known: Known = field(default_factory=Known)

    def __post_init__(self) -> None:
        """Take the statements apart."""
        self.statements: list[Json] = as_list(self.document["Statement"])
        self.has_variables = self.document.get("Version") == "2012-10-17"
        self.conditions = [
            (operator, key.lower(), texts(values))
            for statement in self.statements
            for operator, keys in statement.get("Condition", {}).items()
            for key, values in keys.items()
        ]
        self.keys = sorted({key for _, key, _ in self.conditions} | set(self.variables()))

    def variables(self) -> Iterator[str]:
        """Yield the keys of policy variables."""
        if self.has_variables:
            resources = [texts(statement.get(name)) for statement in self.statements for name in RESOURCE]
            for text in chain.from_iterable([*(values for *_, values in self.conditions), *resources]):
                yield from (found[1].lower() for found in VARIABLE.finditer(text) if found[1] not in ("*", "?", "$"))

    def size(self) -> int:
        """Return how many combinations there are to try."""
        shared = prod(1 + len(self.values(key)) for key in self.keys if not is_of_path(key))
        paths = sum(1 for _ in self.nat_contexts()) + sum(1 for _ in self.endpoint_contexts())
        return len(self.some_requests()) * shared * paths

    # --- outcomes

    def flips(self) -> list[bool]:
        """Return for each statement whether it denies on the endpoint path what was possible on the NAT path.

        A Deny flips if it applies on the endpoint path, and nothing was denied on the NAT path. An Allow flips if it
        applied on the NAT path, nothing was denied there, and no Allow applies on the endpoint path.
        """
        found = [False] * len(self.statements)
        for nat, endpoint in self.pairs():
            possible = [applied for applied in nat if not any(self.is_deny(number) for number in applied)]
            if not possible:
                continue
            allowed_before = set().union(*possible)
            for applied in endpoint:
                allowed = any(not self.is_deny(number) for number in applied)
                for number in range(len(self.statements)):
                    if self.is_deny(number):
                        found[number] |= number in applied
                    else:
                        found[number] |= number in allowed_before and not allowed
        return found

    def restrictions(self) -> list[bool]:
        """Return for each statement of an endpoint's policy whether it denies, or is one of those that allow too little."""
        endpoints = [applied for _, endpoint in self.pairs() for applied in endpoint]
        denied = set().union(*endpoints)
        too_little = any(not any(not self.is_deny(number) for number in applied) for applied in endpoints)
        return [number in denied if self.is_deny(number) else too_little for number in range(len(self.statements))]

    def decisions_through_nat(self, other: "Judge") -> list[str]:
        """Return what this policy says through the NAT of each request and context that another judge tries."""
        found = []
        for request, same, nat in product(other.some_requests(), other.shared_contexts(), list(other.nat_contexts())):
            applied = self.applied(request, {**same, **nat})
            denied = any(self.is_deny(number) for number in applied)
            found.append("denied" if denied else "allowed" if applied else "open")
        return found

    def pairs(self) -> Iterator[tuple[set[frozenset[int]], set[frozenset[int]]]]:
        """Yield, for each request with each value of what is the same on both paths, what can apply on each path."""
        nats, endpoints = list(self.nat_contexts()), list(self.endpoint_contexts())
        for request in self.some_requests():
            for shared in self.shared_contexts():
                possible = [endpoint for endpoint in endpoints if self.is_possible(shared, endpoint)]
                yield (
                    {self.applied(request, {**shared, **nat}) for nat in nats},
                    {self.applied(request, {**shared, **endpoint}) for endpoint in possible},
                )

    def is_possible(self, shared: Context, endpoint: Context) -> bool:
        """Return whether a client of the endpoint's VPC can send a request with these values."""
        for key, same in OF_INSTANCES.items():
            if shared.get(key) and (shared[key] != endpoint[same] or ":" in shared[key][0]):
                return False
        regions = self.regions_of(endpoint["aws:sourcevpc"][0]) if REGION in self.keys else []
        return not regions or any(text in regions for text in shared[REGION])

    def regions_of(self, vpc: str) -> list[str]:
        """Return the Regions in which a VPC can be; none if it can be in any."""
        blocks = [
            [(key.lower(), texts(values)) for keys in row.get("Condition", {}).values() for key, values in keys.items()]
            for row in self.statements
        ]
        own = [block for block in blocks if any(key == "aws:sourcevpc" and vpc in values for key, values in block)]
        named = [text for block in own for key, values in block if key == REGION for text in values]
        return [self.known.region] if self.known.region else named

    @cache  # noqa: B019  # a judge does not live longer than its test
    def some_requests(self) -> list[Request]:
        """Return one of all requests that are decided alike."""
        return list({self.covers(request): request for request in self.requests()}.values())

    def covers(self, request: Request) -> tuple[object, ...]:
        """Return what matters about a request: requests for which this is equal are decided alike."""
        if any(
            "${" in text for statement in self.statements for name in RESOURCE for text in texts(statement.get(name))
        ):
            return (request,)
        return (request.mode, *(self.is_about(statement, request, {}) for statement in self.statements))

    def is_deny(self, number: int) -> bool:
        """Return whether a statement is a Deny."""
        return bool(self.statements[number]["Effect"] == "Deny")

    # --- evaluation

    def applied(self, request: Request, context: Context) -> frozenset[int]:
        """Return the numbers of the statements that apply to a request in a context."""
        full = {**context, "s3express:sessionmode": (request.mode,) if request.mode else ()}
        return frozenset(
            number
            for number, statement in enumerate(self.statements)
            if self.is_about(statement, request, full) and self.meets(statement.get("Condition", {}), full)
        )

    def is_about(self, statement: Json, request: Request, context: Context) -> bool:
        """Return whether a statement is about an action, a resource, and a principal."""
        action, resource = request.action.lower(), request.resource
        checks = {
            "Action": lambda text: glob(text.lower(), action),
            "Resource": lambda text: any(glob(found, resource) for found in self.resolved([text], context)),
            "Principal": lambda text: text == "*" or is_principal(text, request.principal),
        }
        for name, check in checks.items():
            if name in statement:
                if not any(map(check, named(statement[name]))):
                    return False
            elif f"Not{name}" in statement and any(map(check, named(statement[f"Not{name}"]))):
                return False
        return True

    def meets(self, block: Json, context: Context) -> bool:
        """Return whether every condition of a Condition element holds."""
        return all(
            holds(operator, context.get(key.lower(), ()), self.resolved(texts(wanted), context))
            for operator, keys in block.items()
            for key, wanted in keys.items()
        )

    def resolved(self, wanted: Iterable[str], context: Context) -> tuple[str, ...]:
        """Return texts with the values of policy variables; a text with a variable that has no value is left out."""
        if not self.has_variables:
            return tuple(wanted)
        found = []
        for text in wanted:
            parts = VARIABLE.split(text)
            values = [parts[0]]
            for name, default, after in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
                value = [name] if name in ("*", "?", "$") else list(context.get(name.lower(), ()))[:1]
                value = value or ([default] if default else [])
                values += [*value, after] if value else [None]  # type: ignore[list-item]
            if None not in values:
                found.append("".join(values))
        return tuple(found)

    # --- the universe

    def requests(self) -> Iterator[Request]:
        """Yield requests: each action with each resource and each principal."""
        given = [text for statement in self.statements for name in ACTION for text in named(statement.get(name, []))]
        own = [text for pattern in given for text in filled(pattern) if text.lower().startswith("s3express:")]
        actions = {text.lower(): text for text in [*own, *(f"s3express:{name}" for name in ACTIONS)]}.values()
        for action in actions:
            modes = ["ReadWrite", "ReadOnly"] if action.lower() == "s3express:createsession" else [""]
            for mode, resource, principal in product(modes, self.resources(), self.principals()):
                yield Request(action, mode, resource, principal)

    def resources(self) -> list[str]:
        """Return buckets and access points: every combination of the parts of ARNs in the policy."""
        given = [text for statement in self.statements for name in RESOURCE for text in texts(statement.get(name))]
        whole = [text for pattern in given for text in self.substituted(pattern)]
        full = [text.split(":", 5) for text in whole if text.count(":") >= 5]
        parts = [sorted({found for row in full for found in filled(row[n])[-2:]}) for n in (3, 4, 5)]
        regions, accounts, names = (
            [*parts[0], self.known.region or "us-east-1"],
            [*parts[1], "111122223333", "222233334444"],
            parts[2],
        )
        kinds = ["bucket/some--use1-az4--x-s3", "accesspoint/some--use1-az4--xa-s3"]
        arns = {f"arn:aws:s3express:{':'.join(row)}" for row in product(regions, accounts, [*names, *kinds])}
        own = re.compile(r"arn:aws(-cn|-us-gov)?:s3express:[^:]*:[^:]*:(bucket|accesspoint)/.*", re.DOTALL)
        found = sorted(arn for arn in {*arns, *chain.from_iterable(map(filled, whole))} if own.fullmatch(arn))
        return [arn for arn in found if arn.split(":")[3] == (self.known.region or arn.split(":")[3])]

    def principals(self) -> list[str]:
        """Return each principal that is named, a role of each account that is named, and another role."""
        found = [text for statement in self.statements for name in PRINCIPAL for text in named(statement.get(name, []))]
        accounts = [match[1] for text in found if (match := ACCOUNT.fullmatch(text))]
        roles = [f"arn:aws:iam::{account}:role/someone" for account in [*accounts, "999999999999"]]
        return sorted({*(text for text in found if text != "*"), *roles})

    def shared_contexts(self) -> Iterator[Context]:
        """Yield values of the keys that do not depend on the path."""
        keys = [key for key in self.keys if not is_of_path(key)]
        for values in product(*map(self.shared_values, keys)):
            yield dict(zip(keys, values, strict=True))

    def shared_values(self, key: str) -> list[Values]:
        """Return the values to try for a key that does not depend on the path."""
        if key in OF_SERVICES:
            return [("false",)]
        return self.values(key) if key in ALWAYS else [(), *self.values(key)]

    def nat_contexts(self) -> Iterator[Context]:
        """Yield contexts of the NAT path."""
        found = list(self.known.address) or [text for text in self.words("aws:sourceip") if is_public(text)]
        yield from ({"aws:sourceip": (text,)} for text in found)

    def endpoint_contexts(self) -> Iterator[Context]:
        """Yield contexts of the endpoint path."""
        arns = [
            text for text in self.words("aws:sourcevpcarn") if re.fullmatch(r"arn:aws:ec2:[^:]+:[^:]+:vpc/[^:]+", text)
        ]
        named = [*self.words("aws:sourcevpc"), *(arn.split("/")[-1] for arn in arns)]
        vpcs = [self.known.vpc] if self.known.vpc else [text for text in named if text[4:] and text.startswith("vpc-")]
        ids = [text for text in self.words("aws:sourcevpce") if text[5:] and text.startswith("vpce-")]
        endpoints = [self.known.endpoint] if self.known.endpoint else ids
        addresses = [text for text in self.words("aws:vpcsourceip") if is_address(text)]
        newer = [key for key in self.keys if key.startswith("aws:vpce")]
        vpcs, endpoints, addresses = (
            list(dict.fromkeys(found)) if any(key in self.keys for key in keys) else list(found)[:1]
            for found, keys in (
                (vpcs, ("aws:sourcevpc", "aws:sourcevpcarn", "aws:ec2instancesourcevpc", REGION)),
                (endpoints, ("aws:sourcevpce",)),
                (addresses, ("aws:vpcsourceip", "aws:ec2instancesourceprivateipv4")),
            )
        )
        for vpc, endpoint, address in product(vpcs, endpoints, addresses):
            accounts = ("444455556666", "999900001111")  # one that policies name, and another
            named = (arn for arn in arns if arn.endswith(f"/{vpc}"))
            own = {*(f"arn:aws:ec2:us-east-1:{account}:vpc/{vpc}" for account in accounts), *named}
            own = own if "aws:sourcevpcarn" in self.keys else set(sorted(own)[:1])
            for arn, *values in product(sorted(own), *([(), *self.values(key)] for key in newer)):
                found = dict(zip(ENDPOINT_KEYS, ((vpc,), (endpoint,), (arn,), (address,)), strict=True))
                yield {**found, **dict(zip(newer, values, strict=True))}

    def values(self, key: str) -> list[Values]:
        """Return the values to try for a key: sets of up to three if an operator for sets has it."""
        words = ["true", "false"] if key == "aws:securetransport" else self.words(key)
        words = [text for text in words if key != "aws:principalarn" or PRINCIPAL_ARN.fullmatch(text)]
        is_set = any(operator.lower().startswith("for") and found == key for operator, found, _ in self.conditions)
        return [found for size in ((1, 2, 3) if is_set else (1,)) for found in combinations(words, size)]

    @cache  # noqa: B019  # a judge does not live longer than its test
    def words(self, key: str) -> list[str]:
        """Return texts on each side of everything that the policy says about a key."""
        key = OF_INSTANCES.get(key, key)
        found = ["other", "q", "vpc-other", "vpc-q", "vpce-other", "vpce-q"]
        found += [self.known.region] if key == REGION and self.known.region else []
        if any("${" in text for *_, wanted in self.conditions for text in wanted):
            found += filter(None, (self.known.vpc, self.known.endpoint))
        names = [key, *(other for other, same in OF_INSTANCES.items() if same == key)]
        compared = names + [
            other
            for _, other, wanted in self.conditions
            if any(f"${{{name}" in text.lower() for text in wanted for name in names)
        ]
        for operator, other, wanted in self.conditions:
            if other in compared and not operator.lower().startswith("null"):
                for text in chain.from_iterable(map(self.substituted, wanted)):
                    found += around(operator.lower(), text)
        if key == "aws:sourceip":
            found += ["203.0.113.77", "8.8.4.4"]
        if key == "aws:principalarn":
            found += ["arn:aws:iam::999999999999:role/other"]
        if key == "aws:vpcsourceip":
            found += ["10.99.99.99", "2001:db8::99"]
        return list(dict.fromkeys(found))

    def substituted(self, text: str) -> list[str]:
        """Return a text with values in place of policy variables."""
        if not self.has_variables or "${" not in text:
            return [text]
        values = {"other", "q"}
        for found in VARIABLE.finditer(text):
            values |= {found[2] or "q"}
            for _, key, wanted in self.conditions:
                if key == found[1].lower():
                    values |= {value for value in wanted if "$" not in value}
        return [VARIABLE.sub(lambda _, value=value: value, text) for value in sorted(values)]  # type: ignore[misc]

    def __hash__(self) -> int:
        """Let the words be remembered for each judge."""
        return id(self)


ACTION, RESOURCE, PRINCIPAL = (("Action", "NotAction"), ("Resource", "NotResource"), ("Principal", "NotPrincipal"))
ACCOUNT = re.compile(r"(?:arn:aws:iam::)?(\d{12})(?::root)?")


def as_list(found: Any) -> list[Any]:
    """Return a list as it is, and anything else as a list of it."""
    return list(found) if isinstance(found, list | tuple) else [found]


def texts(found: Any) -> list[str]:
    """Return one or many values as texts."""
    return (
        [str(one).lower() if isinstance(one, bool) else str(one) for one in as_list(found)] if found is not None else []
    )


def named(found: Any) -> list[str]:
    """Return the texts of an element. Services among principals are left out: they do not call from a subnet."""
    if isinstance(found, Mapping):
        return [text for kind, values in found.items() if kind != "Service" for text in texts(values)]
    return texts(found)


def is_principal(text: str, principal: str) -> bool:
    """Return whether a text names a principal, or the principal's account."""
    account = ACCOUNT.fullmatch(text)
    return text == principal or bool(account and f"::{account[1]}:" in principal)


def is_of_path(key: str) -> bool:
    """Return whether the path decides on a key."""
    return key == "aws:sourceip" or key in ENDPOINT_KEYS or key.startswith("aws:vpce")


def is_address(text: str) -> bool:
    """Return whether a text is an address."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


PRIVATE = [ip_network(text) for text in ("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16")]
PRIVATE += [ip_network(text) for text in ("172.16.0.0/12", "192.168.0.0/16", "224.0.0.0/3")]


def is_public(text: str) -> bool:
    """Return whether a NAT can have an address."""
    if not is_address(text):
        return False
    address = ip_address(text)
    return isinstance(address, IPv4Address) and not any(address in block for block in PRIVATE)


def filled(pattern: str) -> list[str]:
    """Return texts that match a pattern: nothing, one character, or two in place of each *."""
    return list(dict.fromkeys(pattern.replace("?", "q").replace("*", fill) for fill in FILLS))


def around(operator: str, text: str) -> list[str]:
    """Return texts near a value of a condition."""
    if "ipaddress" in operator:
        try:
            block = ip_network(text, strict=False)
        except ValueError:
            return [text]
        near = (int(block[0]) - 1, int(block[0]), int(block[-1]), int(block[-1]) + 1)
        return [str(type(block[0])(one)) for one in near if 0 <= one < 2**block.max_prefixlen]
    if "numeric" in operator or "date" in operator:
        return [f"{number(text) + step:.12g}" for step in (-1, 0, 0.5, 1)]
    if "bool" in operator:
        return ["true", "false"]
    digits = [pattern.replace("?", "1") for pattern in (text.replace("*", fill) for fill in ("1", "1.1", "1.1.1"))]
    return [*filled(text), text.upper(), text.title(), *(found for found in digits if is_address(found))]


@cache
def glob(pattern: str, text: str) -> bool:
    """Return whether a text matches a pattern with * and ?."""
    parts = [".*" if one == "*" else "." if one == "?" else re.escape(one) for one in pattern]
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def arn_glob(pattern: str, text: str) -> bool:
    """Compare two ARNs part by part."""
    one, other = pattern.split(":", 5), text.split(":", 5)
    return len(one) == len(other) and all(map(glob, one, other))


def number(text: str) -> float:
    """Return a number, or a date as a number: a year and a month are dates, too."""
    if re.fullmatch(r"\d{4}(-\d{2})?", text):
        text = f"{text}-01-01"[:10]
    try:
        return float(text)
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return float("nan")
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


@cache
def holds(operator: str, found: Values, wanted: Values) -> bool:
    """Return whether a condition holds, by AWS's words about each operator."""
    name = operator.lower()
    for_all, for_any = name.startswith("forallvalues:"), name.startswith("foranyvalue:")
    name = name.split(":")[-1]
    if name == "null":
        return any((one.lower() == "true") == (not found) for one in wanted)
    if_exists = name.endswith("ifexists")
    name = name.removesuffix("ifexists")
    negated = "not" in name
    if not found:
        return if_exists or for_all or (negated and not for_any)
    hits = [any(compare(name.replace("not", ""), one, other) for other in wanted) for one in found]
    if for_all:
        return all(hit != negated for hit in hits)
    if for_any:
        return any(hit != negated for hit in hits)
    return not any(hits) if negated else any(hits)


def compare(name: str, one: str, other: str) -> bool:
    """Return whether the value of a key and a value of a policy match."""
    if name in ("stringequals", "binaryequals"):
        return one == other
    if name in ("stringequalsignorecase", "bool"):
        return one.lower() == other.lower()
    if name == "stringlike":
        return glob(other, one)
    if name in ("arnequals", "arnlike"):
        return arn_glob(other, one)
    if name == "ipaddress":
        try:
            return ip_address(one) in ip_network(other, strict=False)
        except ValueError:
            return False
    return {
        "equals": number(one) == number(other),
        "lessthan": number(one) < number(other),
        "lessthanequals": number(one) <= number(other),
        "greaterthan": number(one) > number(other),
        "greaterthanequals": number(one) >= number(other),
    }[name.removeprefix("numeric").removeprefix("date")]
