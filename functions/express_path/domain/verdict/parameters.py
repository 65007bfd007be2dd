"""The rule's parameters: their names, allowed values, defaults, and how they are read."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from express_path.domain.network.ids import wrong_form
from express_path.domain.path.reasons import NAT_REASONS, Compliance, Reason
from express_path.errors import ParameterError

RULE_NAME = "s3express-no-nat-path"
"""The default name of the rule."""


class Scope(StrEnum):
    """The accounts and Regions in which the rule applies: all, or only those with a directory bucket."""

    ALL = "ALL"
    DIRECTORY_BUCKETS = "DIRECTORY_BUCKETS"


PUBLIC_SUBNETS = (Compliance.COMPLIANT, Compliance.NON_COMPLIANT, Compliance.NOT_APPLICABLE)
UNRESOLVED_EGRESS = (Compliance.NOT_APPLICABLE, Compliance.NON_COMPLIANT)
NO_TAG = "NONE"
"""The value of excludeTag for which no tag excludes a subnet."""
_LONGEST_TAG = 128 + len("=") + 256
_ROLE_ARN = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+")


@dataclass(frozen=True, slots=True)
class RuleParameters:
    """The rule's parameters, by AWS Config's camelCase names; the defaults are those of a rule without parameters.

    exclude_tag is empty if no tag excludes a subnet (excludeTag=NONE).
    """

    public_subnets: Compliance = PUBLIC_SUBNETS[0]
    unresolved_egress: Compliance = UNRESOLVED_EGRESS[0]
    scope: Scope = Scope.ALL
    vpc_ids: frozenset[str] = frozenset()
    exclude_tag: str = "express-path:exclude"
    network_role_arn: str | None = None

    def includes(self, vpc_id: str) -> bool:
        """Return whether vpcIds includes a VPC; without vpcIds, every VPC is included."""
        return not self.vpc_ids or vpc_id in self.vpc_ids

    def compliance_of(self, reason: Reason) -> Compliance:
        """Return the compliance that a reason has under these parameters."""
        if reason is Reason.UNRESOLVED_EGRESS:
            return self.unresolved_egress
        if reason is Reason.INTERNET_GATEWAY:
            return self.public_subnets
        return _FIXED_COMPLIANCE[reason]


_FIXED_COMPLIANCE = {
    **dict.fromkeys(Reason, Compliance.NOT_APPLICABLE),
    Reason.ENDPOINT: Compliance.COMPLIANT,
    **dict.fromkeys((Reason.LOSES_PATH, Reason.PARTLY_NAT, *NAT_REASONS), Compliance.NON_COMPLIANT),
}


def parse_parameters(values: Mapping[str, object]) -> RuleParameters:
    """Read rule parameters as AWS Config or the command line passes them.

    Raise ParameterError for an unknown name or a value that is not allowed.
    """
    fields: dict[str, object] = {}
    for name, value in values.items():
        if name not in PARAMETERS:
            raise ParameterError(name, value, "one of the names " + ", ".join(PARAMETERS))
        if not isinstance(value, str):
            raise ParameterError(name, value, "a string")
        parameter = PARAMETERS[name]
        fields[parameter.field] = parameter.read(name, value.strip())
    return RuleParameters(**fields)  # type: ignore[arg-type]  # each read function returns its own field's type


def _one_of(allowed: tuple[StrEnum, ...], name: str, value: str) -> StrEnum:
    for member in allowed:
        if value == member:
            return member
    raise ParameterError(name, value, "one of " + ", ".join(allowed))


def _vpc_ids(name: str, value: str) -> frozenset[str]:
    ids = [vpc_id.strip() for vpc_id in value.split(",")]
    if any(wrong_form(vpc_id, "vpcId") for vpc_id in ids):
        raise ParameterError(name, value, "comma-separated VPC ids such as vpc-0123456789abcdef0")
    return frozenset(ids)


def _tag(name: str, value: str) -> str:
    if not 0 < len(value) <= _LONGEST_TAG:
        raise ParameterError(name, value, f"a tag key, or key=value, of 1 to {_LONGEST_TAG} characters")
    return "" if value == NO_TAG else value


def _role_arn(name: str, value: str) -> str:
    if not _ROLE_ARN.fullmatch(value):
        raise ParameterError(name, value, "the ARN of an IAM role, such as arn:aws:iam::111122223333:role/Name")
    return value


@dataclass(frozen=True, slots=True)
class Parameter:
    """A rule parameter: its field in RuleParameters, and the function that reads its value, given name and text."""

    field: str
    read: Callable[[str, str], object]


PARAMETERS: Mapping[str, Parameter] = {
    "publicSubnets": Parameter("public_subnets", partial(_one_of, PUBLIC_SUBNETS)),
    "unresolvedEgress": Parameter("unresolved_egress", partial(_one_of, UNRESOLVED_EGRESS)),
    "scope": Parameter("scope", partial(_one_of, tuple(Scope))),
    "vpcIds": Parameter("vpc_ids", _vpc_ids),
    "excludeTag": Parameter("exclude_tag", _tag),
    "networkRoleArn": Parameter("network_role_arn", _role_arn),
}
"""Every rule parameter, by name."""
