"""Who owns an endpoint or a route table, and what changed about that since a heal."""

import hashlib
import json

from express_path.domain.heal.ledger import Marks, RunRecord
from express_path.domain.heal.records import HealSettings
from express_path.domain.network.resources import RouteTable, VpcEndpoint
from express_path.domain.network.tags import has_tag


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
    """Return a hash of a policy that does not depend on spaces or on the order of the keys; empty without a policy."""
    try:
        canonical = json.dumps(json.loads(policy), sort_keys=True, separators=(",", ":"))
    except ValueError:
        canonical = policy
    return hashlib.sha256(canonical.encode()).hexdigest() if policy else ""


def taken_over(heal: RunRecord, endpoint: VpcEndpoint, table: RouteTable | None, settings: HealSettings) -> str:
    """Return what shows that a tool owns the endpoint or the route table and did not when the heal ran; else empty.

    Earlier versions did not record the owners. Then every owner of the endpoint counts as a new one, because heals use
    no endpoint of a tool unless adopt_iac_owned is true. An owner of the route table does not count, because heals
    change the associations of route tables that a tool owns.
    """
    if settings.adopt_iac_owned:
        return ""
    resources: list[tuple[VpcEndpoint | RouteTable, str]] = [
        (endpoint, heal.marks.endpoint_owner if heal.marks else "")
    ]
    if table and heal.marks:
        resources.append((table, heal.marks.table_owner))
    for resource, before in resources:
        owner = owner_tag(resource, settings)
        if owner and owner != before:
            return f"{resource.id} has the tag {owner}, which it did not have when the heal ran, so a tool owns it now"
    return ""


def has_other_policy(heal: RunRecord, policy: str) -> bool:
    """Return whether the endpoint's policy is not the one that the heal saw; earlier versions did not record that."""
    return heal.marks is not None and heal.marks.policy != policy_hash(policy)
