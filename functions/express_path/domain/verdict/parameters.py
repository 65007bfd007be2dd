"""The rule's parameters: their names, allowed values and defaults, and how they are read."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from express_path.domain.path.reasons import Compliance, Reason
from express_path.errors import ParameterError


class Scope(StrEnum):
    """Where the rule applies: everywhere, or only where the account has a directory bucket in the Region."""

    ALL = "ALL"
    DIRECTORY_BUCKETS = "DIRECTORY_BUCKETS"


PUBLIC_SUBNETS = (Compliance.COMPLIANT, Compliance.NON_COMPLIANT, Compliance.NOT_APPLICABLE)
UNRESOLVED_EGRESS = (Compliance.NOT_APPLICABLE, Compliance.NON_COMPLIANT)
Reader = Callable[[str, str], object]
_LONGEST_TAG = 128 + len("=") + 256
_VPC_ID = re.compile(r"vpc-[0-9a-z]+")
_ROLE_ARN = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+")


@dataclass(frozen=True, slots=True)
class RuleParameters:
    """The rule's parameters, by AWS Config's camelCase names; the defaults are those of a rule without parameters."""

    public_subnets: Compliance = PUBLIC_SUBNETS[0]
    unresolved_egress: Compliance = UNRESOLVED_EGRESS[0]
    scope: Scope = Scope.ALL
    vpc_ids: frozenset[str] = frozenset()
    exclude_tag: str = "express-path:exclude"
    network_role_arn: str | None = None

    def includes(self, vpc_id: str) -> bool:
        """Whether vpcIds lets a VPC be evaluated."""
        return not self.vpc_ids or vpc_id in self.vpc_ids

    def compliance_of(self, reason: Reason) -> Compliance:
        """What a reason means for compliance under these parameters."""
        if reason is Reason.UNRESOLVED_EGRESS:
            return self.unresolved_egress
        if reason is Reason.INTERNET_GATEWAY:
            return self.public_subnets
        return _FIXED[reason]


_FIXED = {
    **dict.fromkeys(Reason, Compliance.NOT_APPLICABLE),
    Reason.ENDPOINT: Compliance.COMPLIANT,
    Reason.PARTLY_NAT: Compliance.NON_COMPLIANT,
    Reason.NAT_GATEWAY: Compliance.NON_COMPLIANT,
    Reason.NAT_INSTANCE: Compliance.NON_COMPLIANT,
    Reason.NAT_BEHIND_APPLIANCE: Compliance.NON_COMPLIANT,
    Reason.NAT_BEYOND_TRANSIT_GATEWAY: Compliance.NON_COMPLIANT,
}


def parse_parameters(values: Mapping[str, object]) -> RuleParameters:
    """Read rule parameters as AWS Config or the command line gives them.

    Raises ParameterError for an unknown name or a value that is not allowed.
    """
    read: dict[str, object] = {}
    for name, value in values.items():
        if name not in PARAMETERS:
            raise ParameterError(name, value, "one of the names " + ", ".join(PARAMETERS))
        if not isinstance(value, str):
            raise ParameterError(name, value, "a string")
        field, reader = PARAMETERS[name]
        read[field] = reader(name, value.strip())
    return RuleParameters(**read)  # type: ignore[arg-type]  # each reader returns its own field's type


def _one_of(allowed: tuple[StrEnum, ...]) -> Reader:
    def read(name: str, value: str) -> StrEnum:
        """The allowed value that is spelt so. Raises ParameterError."""
        for each in allowed:
            if value == each:
                return each
        raise ParameterError(name, value, "one of " + ", ".join(allowed))

    return read


def _vpc_ids(name: str, value: str) -> frozenset[str]:
    ids = [each.strip() for each in value.split(",")]
    if not all(_VPC_ID.fullmatch(each) for each in ids):
        raise ParameterError(name, value, "comma-separated VPC ids such as vpc-0123456789abcdef0")
    return frozenset(ids)


def _tag(name: str, value: str) -> str:
    if not 0 < len(value) <= _LONGEST_TAG:
        raise ParameterError(name, value, f"a tag key, or key=value, of 1 to {_LONGEST_TAG} characters")
    return value


def _role_arn(name: str, value: str) -> str:
    if not _ROLE_ARN.fullmatch(value):
        raise ParameterError(name, value, "the ARN of an IAM role, such as arn:aws:iam::111122223333:role/Name")
    return value


PARAMETERS: Mapping[str, tuple[str, Reader]] = {
    "publicSubnets": ("public_subnets", _one_of(PUBLIC_SUBNETS)),
    "unresolvedEgress": ("unresolved_egress", _one_of(UNRESOLVED_EGRESS)),
    "scope": ("scope", _one_of(tuple(Scope))),
    "vpcIds": ("vpc_ids", _vpc_ids),
    "excludeTag": ("exclude_tag", _tag),
    "networkRoleArn": ("network_role_arn", _role_arn),
}
"""Every rule parameter by name: its field in RuleParameters and the function that reads its value."""
