"""The resources that a request names, as ARNs in the forms of the Service Authorization Reference."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from moto.iam.models import iam_backends
from moto.utilities.utils import get_partition

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.iam.policies import as_list
from config_rule_sandbox.iam.reference import Action, ResourceType

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "BucketName": ("Bucket",),
    "Name": ("FirewallName",),
    "ObjectName": ("Key",),
    "ParameterNameWithoutLeadingSlash": ("Name",),
    "QueueName": ("QueueUrl",),
    "RuleName": ("Rule",),
}
"""The parameters that have the value of a variable of ARNs, if they do not have its name."""


@dataclass(frozen=True, slots=True)
class Place:
    """The account and Region of a request."""

    account_id: str
    region: str

    @property
    def values(self) -> Mapping[str, str]:
        """The values of the variables of ARNs that say where a resource is."""
        return {"Partition": get_partition(self.region), "Region": self.region, "Account": self.account_id}


def of_request(known: Action, given: Mapping[str, Any], place: Place) -> list[str]:
    """Return the ARNs on which a request for an action needs a permission.

    They are "*" for an action without types of resources. Where the request does not name a resource of a type that is
    required, they are all of that type; where it names none of types that are not required, they are "*".
    """
    if not known.types:
        return ["*"]
    if required := known.required:
        return [arn for kind in required for arn in named(kind, given, place) or [kind.arn(place.values)]]
    found = [arn for kind in known.types.values() for arn in named(kind, given, place)]
    # A request that names a function and no version is about the function, and not about one of its versions.
    return [arn for arn in found if "*" not in arn] or found or ["*"]


def named(kind: ResourceType, given: Mapping[str, Any], place: Place) -> list[str]:
    """Return the ARNs of the resources of a type that parameters name. What they do not say of one is *."""
    if not kind.variables:
        return [kind.arn(place.values)]
    arns = [text for value in given.values() for text in as_list(value) if _is_arn(text) and kind.includes(text)]
    if arns:
        return arns
    values = {variable: _texts(variable, given, is_last=variable == kind.variables[-1]) for variable in kind.variables}
    several = max(values.values(), key=len, default=[])
    return [
        kind.arn(
            {**place.values, **{name: texts[min(index, len(texts) - 1)] for name, texts in values.items() if texts}}
        )
        for index in range(len(several))
    ]


def role_arn(name: str, path: str, place: Place) -> str:
    """Return the ARN of a role, which has the role's path: that of the role with this name, or of a new one with a path."""
    role = _role(name, place)
    return str(role.arn) if role else f"arn:{place.values['Partition']}:iam::{place.account_id}:role{path}{name}"


BOUNDARY = "iam:PermissionsBoundary"
"""The condition key with the permissions boundary of a role: the one that a request gives it, or else the one that it has.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsidentityandaccessmanagementiam.html
"""


def boundary_key(name: str, given: str | None, place: Place) -> dict[str, list[str]]:
    """Return this key for a request about a role. given: the permissions boundary in the request, if there is one."""
    role = _role(name, place)
    boundary = given or (role.permissions_boundary_arn if role else None)
    return {BOUNDARY: [boundary]} if boundary else {}


def _role(name: str, place: Place) -> Moto:
    roles: Moto = iam_backends[place.account_id][place.values["Partition"]].roles
    return next((role for role in roles.values() if role.name == name), None)


def _is_arn(value: object) -> bool:
    return isinstance(value, str) and value.startswith("arn:")


def _texts(variable: str, given: Mapping[str, Any], *, is_last: bool) -> list[str]:
    """Return the values of a variable: those of the parameter with its name, or of Name for what the resource is called."""
    names = [variable, f"{variable}s", *PARAMETERS.get(variable, ())]
    if is_last and variable.endswith("Name"):
        names.append("Name")
    by_name = {name.lower(): value for name, value in given.items()}  # some services begin names with a small letter
    values: Any = next((by_name[name.lower()] for name in names if name.lower() in by_name), [])
    return [_name(text) for text in as_list(values) if isinstance(text, str)]


def _name(text: str) -> str:
    """Return the name in a URL or an ARN, or the name itself, without the slash with which a path begins."""
    if text.startswith(("http://", "https://")):
        return text.rpartition("/")[2]
    return text.rpartition(":")[2] if _is_arn(text) else text.lstrip("/")
