"""Who owns what a heal left, and whether somebody else changed it since."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from express_path.domain.heal.ledger_records import Marks, RunRecord
from express_path.domain.heal.records import MANAGED_TAG, HealSettings
from express_path.domain.network.resources import RouteTable, VpcEndpoint, has_tag
from express_path.domain.policies.documents import listed

MAX_NAMED_KEYS = 10
"""How many keys of tags are named: a resource may have 50, of 128 characters each."""


def owner_tag(resource: VpcEndpoint | RouteTable, settings: HealSettings) -> str:
    """Return the tag that shows which tool owns a resource, as key=value; empty if no tool does."""
    keys = sorted(key for key in resource.tags if key.startswith("aws:cloudformation:"))
    for key, value in resource.tags.items():
        keys += [key for owner_tag in settings.owner_tags if has_tag({key: value}, owner_tag)]
    return f"{keys[0]}={resource.tags[keys[0]]}" if keys else ""


def marks_of(endpoint: VpcEndpoint, policy: str, table: RouteTable, settings: HealSettings) -> Marks:
    """Return the owners of an endpoint and a route table, and the hash of the endpoint's policy, as they are now."""
    return Marks(owner_tag(endpoint, settings), owner_tag(table, settings), policy_hash(policy))


def policy_hash(policy: str) -> str:
    """Return a hash of what a policy means, which is the same however it is written; empty without a policy."""
    try:
        document = json.loads(policy)
    except ValueError:
        canonical = policy
    else:
        canonical = json.dumps(_meaning(document), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest() if policy else ""


def _meaning(element: Any) -> Any:  # noqa: ANN401  # any JSON
    """Return JSON of a policy without names. The order of values, and a list of one value, mean nothing."""
    if isinstance(element, list):
        by_text = {json.dumps(value, sort_keys=True): value for value in map(_meaning, element)}
        values = [by_text[text] for text in sorted(by_text)]
        return values[0] if len(values) == 1 and isinstance(values[0], str) else values
    if isinstance(element, dict):
        named = {name: listed(value) if name == "Statement" else value for name, value in element.items()}
        return {name: _meaning(value) for name, value in named.items() if name not in ("Sid", "Id")}
    return element


def taken_over(heal: RunRecord, endpoint: VpcEndpoint, table: RouteTable | None, settings: HealSettings) -> str:
    """Return what shows that a tool owns the endpoint or the route table and did not when the heal ran; else empty."""
    if settings.adopt_iac_owned:
        return ""
    seen = heal.marks or Marks()
    for resource, before in ((endpoint, seen.endpoint_owner), (table, seen.table_owner)):
        owner = owner_tag(resource, settings) if resource else ""
        if resource and owner and owner != before:
            return f"{resource.id} has the tag {owner}, which it did not have when the heal ran, so a tool owns it now"
    return ""


def has_other_policy(heal: RunRecord, policy: str) -> bool:
    """Return whether the endpoint's policy is not the one that the heal saw when it started to associate its table."""
    return heal.marks is not None and heal.marks.policy != policy_hash(policy)


def adopted(heal: RunRecord, endpoint: VpcEndpoint, settings: HealSettings) -> str:
    """Return what shows that somebody adopted an endpoint of heals since a heal read it back; empty if nothing does.

    Heals create endpoints with MANAGED_TAG only. A tool that adopts one adds its own tags, and Terraform removes others.
    """
    known = {MANAGED_TAG, *settings.automatic_tag_keys, *(heal.marks or Marks()).tag_keys}
    if added := sorted(endpoint.tags.keys() - known):
        keys = ", ".join(json.dumps(key) for key in added[:MAX_NAMED_KEYS])
        return f"{endpoint.id} has tags that it did not have when the heal read it back, with the keys {keys}"
    return "" if endpoint.tags.get(MANAGED_TAG) == "true" else f"{endpoint.id} no longer has the tag {MANAGED_TAG}=true"


def changed_since(heals: Iterable[RunRecord], endpoint: VpcEndpoint, policy: str, settings: HealSettings) -> str:
    """Return what somebody changed on an endpoint of heals since one of these heals read it back; empty if nothing.

    policy is the endpoint's policy now, empty if it was not read.
    """
    for heal in heals:
        if policy and has_other_policy(heal, policy):
            return f"somebody replaced the policy of {endpoint.id} since a heal created it"
        if adoption := adopted(heal, endpoint, settings):
            return adoption
    return ""


def changed_since_creation(
    creators: Iterable[RunRecord], endpoint: VpcEndpoint, policy: str, settings: HealSettings
) -> str:
    """Return what somebody changed on an endpoint of heals since they created it; empty if nothing.

    creators are the heals that created endpoints of the VPC and are over. What they read back is how they left the
    endpoint. If all of its creators ended before that, it is as they left it only if MANAGED_TAG is its only tag. The
    record of a heal that ended right after the creation does not name the endpoint.
    """
    of_endpoint = [heal for heal in creators if heal.endpoint_id in ("", endpoint.id)]
    read_back = [heal for heal in of_endpoint if heal.is_associated]
    return changed_since(read_back or of_endpoint, endpoint, policy, settings)
