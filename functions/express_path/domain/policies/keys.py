"""The keys of conditions, and what is known and not known of the two paths.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from express_path.domain.policies.documents import Condition, PolicyDocument

SOURCE_IP, VPCE, VPC, VPC_ARN, VPC_IP = (
    "aws:sourceip",
    "aws:sourcevpce",
    "aws:sourcevpc",
    "aws:sourcevpcarn",
    "aws:vpcsourceip",
)
REGION, INSTANCE_VPC, INSTANCE_IP = (
    "aws:requestedregion",
    "aws:ec2instancesourcevpc",
    "aws:ec2instancesourceprivateipv4",
)
OF_INSTANCES = {INSTANCE_VPC: VPC, INSTANCE_IP: VPC_IP}
"""Keys of requests with the credentials of an instance, and the keys of the endpoint path that have the same values."""
AFTER = {VPC_ARN: VPC, REGION: VPC, **OF_INSTANCES}
"""Keys whose values depend on that of another one."""
CURRENT_TIME, EPOCH_TIME, SECURE_TRANSPORT, PRINCIPAL_ARN = (
    "aws:currenttime",
    "aws:epochtime",
    "aws:securetransport",
    "aws:principalarn",
)
ALWAYS = (
    *(CURRENT_TIME, EPOCH_TIME, SECURE_TRANSPORT, PRINCIPAL_ARN, REGION),
    *("aws:principalaccount", "aws:principaltype", "aws:resourceaccount", "aws:useragent", "aws:userid"),
)
"""Keys that every request has that is signed, as those to S3 Express are
(https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html, Availability)."""
OF_SERVICES = ("aws:principalisawsservice", "aws:viaawsservice")
"""Keys that are true only if an AWS service calls, which no service does from a subnet."""
ID_PREFIXES = {VPC: "vpc-", INSTANCE_VPC: "vpc-", VPCE: "vpce-"}
"""How the values of keys begin."""
ONLY_SOME_ENDPOINTS = "aws:vpce"
"""How the keys begin that are newer, such as aws:VpceOrgID: requests through an endpoint may have them."""
SETS_OF_PATH = ("aws:vpceorgpaths",)
"""Which keys that depend on the path have several values."""
SESSION_MODE = "s3express:sessionmode"
VARIABLE = re.compile(r"\$\{([^{},]*)(?:,\s*'([^'{}]*)'\s*)?\}")
ESCAPES = ("*", "?", "$")
"""What looks like a policy variable, and stands for the character itself."""


class RequestPath(StrEnum):
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


class UnknownValue(NamedTuple):
    """A key (in lower case) whose value is not known. path is empty if the value is the same on both paths."""

    path: RequestPath | None
    key: str


Answer = bool | UnknownValue
"""True, false, or the first value that is missing to answer."""
PRINCIPAL, RESOURCE = UnknownValue(None, "Principal"), UnknownValue(None, "Resource")


def keys_of(condition: Condition, document: PolicyDocument) -> list[str]:
    """Return the key of a condition, and the keys of policy variables in its values, in lower case."""
    variables = variables_in(condition.values) if document.has_variables else []
    return [condition.key.lower(), *variables]


def variables_in(texts: Iterable[str]) -> list[str]:
    """Return the names of the policy variables in texts, in lower case."""
    names = (match[1].strip().lower() for text in texts for match in VARIABLE.finditer(text))
    return [name for name in names if name not in ESCAPES]


def depends_on_path(condition: Condition, document: PolicyDocument) -> bool:
    """Return whether a condition may hold on one path only."""
    return any(is_of_path(key) for key in keys_of(condition, document))


def is_of_path(key: str) -> bool:
    """Return whether a key (in lower case) depends on the path."""
    return key in (SOURCE_IP, VPCE, VPC, VPC_ARN, VPC_IP) or key.startswith(ONLY_SOME_ENDPOINTS)
