"""AWS-managed prefix lists: those of S3 Express One Zone, ids that are the same in every account, and their CIDRs."""

import hashlib
from copy import copy

from moto.core.responses import ActionResult
from moto.ec2.models import EC2Backend
from moto.ec2.models.managed_prefixes import ManagedPrefixList
from moto.ec2.responses import EC2Response

from config_rule_sandbox.answers import Ipv6List, given
from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import not_found
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.ec2.regions import ipv4_cidrs, ipv6_cidrs, offers_s3express
from config_rule_sandbox.patching.patches import Patches

AWS = "AWS"
"""OwnerId of AWS-managed prefix lists (botocore model, ManagedPrefixList)."""


def apply(patches: Patches, knobs: Knobs) -> None:
    """Give every Region the prefix lists that AWS has there.

    moto has none for `com.amazonaws.<region>.s3express`, gives each account other ids for the AWS-managed lists, and
    returns no Cidrs from DescribePrefixLists
    (https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html).
    """
    del knobs
    patches.wrap(EC2Backend, "create_default_pls", _create_default_pls)
    patches.set(EC2Response, "describe_prefix_lists", _describe_prefix_lists)
    patches.wrap(EC2Response, "describe_managed_prefix_lists", _describe_managed_prefix_lists)
    patches.wrap(EC2Response, "get_managed_prefix_list_entries", _get_managed_prefix_list_entries)


def of_service(backend: Moto, service_name: str) -> dict[str, Moto]:
    """Return the AWS-managed prefix lists of a service (`com.amazonaws.<region>.s3express`) by `ipv4` and `ipv6`."""
    prefix, _, service = service_name.rpartition(".")
    names = {service_name: "ipv4", f"{prefix}.ipv6.{service}": "ipv6"}
    owned = [item for item in backend.managed_prefix_lists.values() if item.owner_id == AWS]
    return {names[item.prefix_list_name]: item for item in owned if item.prefix_list_name in names}


def _create_default_pls(original: Moto) -> Moto:
    """Add the S3 Express lists to the prefix lists of a Region that offers the service."""

    def create_default_pls(self: Moto) -> None:
        original(self)
        region = self.region_name
        if offers_s3express(region):
            _create(self, f"com.amazonaws.{region}.s3express", "IPv4", ipv4_cidrs(region))
            _create(self, f"com.amazonaws.{region}.ipv6.s3express", "IPv6", ipv6_cidrs(region))
        for prefix_list in list(self.managed_prefix_lists.values()):
            _make_global(self, prefix_list)

    return create_default_pls


def _create(backend: Moto, name: str, family: str, cidrs: list[str]) -> None:
    entries = [{"Cidr": cidr, "Description": "default"} for cidr in cidrs]
    backend._create_aws_managed_prefix_list(name=name, address_family=family, entries=entries)


def _make_global(backend: Moto, prefix_list: ManagedPrefixList) -> None:
    """Give an AWS-managed list an id that depends only on Region and name, and the ARN of its owner, `aws`."""
    del backend.managed_prefix_lists[prefix_list.id]
    name = f"{backend.region_name}/{prefix_list.prefix_list_name}"
    prefix_list.id = f"pl-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    prefix_list.prefix_list_arn = prefix_list.arn(backend.region_name, AWS.lower())
    backend.managed_prefix_lists[prefix_list.id] = prefix_list


def _describe_prefix_lists(self: Moto) -> ActionResult:
    """List the prefix lists of AWS services with their CIDRs; never a customer's, even under an AWS name.

    Whether AWS lists IPv6 ones here too is not documented (answers.Ipv6List).
    """
    shown = ("IPv4", "IPv6") if given().ipv6_list is Ipv6List.PLAIN else ("IPv4",)
    ids = self._get_param("PrefixListIds", [])
    _check_ids(self.ec2_backend, ids, "InvalidPrefixListId.NotFound")
    found = self.ec2_backend.describe_managed_prefix_lists(ids, self._filters_from_querystring())
    return ActionResult(
        {
            "PrefixLists": [
                {
                    "PrefixListId": item.id,
                    "PrefixListName": item.prefix_list_name,
                    "Cidrs": [entry["Cidr"] for entries in item.entries.values() for entry in entries],
                }
                for item in found
                if item.owner_id == AWS and item.address_family in shown
            ]
        }
    )


def _describe_managed_prefix_lists(original: Moto) -> Moto:
    def describe_managed_prefix_lists(self: Moto) -> ActionResult:
        _check_ids(self.ec2_backend, self._get_param("PrefixListIds", []), "InvalidPrefixListID.NotFound")
        found: Moto = original(self).result
        shown = [prefix_list for prefix_list in map(_as_answered, found["PrefixLists"]) if prefix_list]
        return ActionResult({**found, "PrefixLists": shown})

    return describe_managed_prefix_lists


def _as_answered(prefix_list: ManagedPrefixList) -> ManagedPrefixList | None:
    """Return a list under the name that AWS has for it, None if it has no such list (answers.Ipv6List)."""
    name = str(prefix_list.prefix_list_name)
    if prefix_list.owner_id != AWS or not name.endswith(".ipv6.s3express"):
        return prefix_list
    match given().ipv6_list:
        case Ipv6List.NONE:
            return None
        case Ipv6List.NAMED_DIFFERENTLY:
            renamed = copy(prefix_list)
            renamed.prefix_list_name = name.replace(".ipv6.s3express", ".s3express-ipv6")
            return renamed
    return prefix_list


def _check_ids(backend: Moto, ids: list[str], code: str) -> None:
    """Refuse an id that does not exist; moto leaves it out.

    DescribePrefixLists spells the code with a small d: https://github.com/hashicorp/terraform-provider-aws,
    internal/service/ec2/find.go.
    """
    for prefix_list_id in ids:
        if prefix_list_id not in backend.managed_prefix_lists:
            raise not_found(code, "prefix list", prefix_list_id)


def _get_managed_prefix_list_entries(original: Moto) -> Moto:
    def get_managed_prefix_list_entries(self: Moto) -> ActionResult:
        _check_ids(self.ec2_backend, [self._get_param("PrefixListId")], "InvalidPrefixListID.NotFound")
        answer: ActionResult = original(self)
        return answer

    return get_managed_prefix_list_entries
