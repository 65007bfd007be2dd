"""AWS Network Firewall, whose endpoints traffic passes through."""

from collections.abc import Sequence

from express_path.domain.network.resources import Firewall, VpcEndpoint
from express_path_cli.sources.proposal.draft import Draft
from express_path_cli.sources.proposal.resource import GONE, Action, Resource, firewall_endpoints

TYPES = frozenset({"aws_networkfirewall_firewall"})


def remove(draft: Draft, resource: Resource) -> None:
    """Remove a firewall and its endpoints: routes to them become blackholes."""
    if resource.action in GONE:
        firewall = draft.firewalls.pop(resource.before.text("arn"), None)
        for endpoint_id in firewall.endpoint_ids if firewall else ():
            draft.endpoints.pop(endpoint_id, None)
            draft.gone.add(endpoint_id)


def add(draft: Draft, resources: Sequence[Resource]) -> None:
    """Add a firewall and its endpoints, one in each of its subnets."""
    for resource in resources:
        after = resource.after
        arn = after.text("arn") or resource.address
        if arn in draft.firewalls and resource.action is Action.KEEP:
            continue
        known = draft.firewalls.get(arn)
        subnet_ids = firewall_endpoints(resource.address, after.values)
        endpoint_ids = known.endpoint_ids if known else tuple(subnet_ids)
        for endpoint_id in endpoint_ids:
            if endpoint_id not in draft.endpoints:
                ids = (subnet_ids.get(endpoint_id) or after.unknown("subnet_mapping"),)
                draft.endpoints[endpoint_id] = VpcEndpoint(
                    endpoint_id, draft.vpc_of(after), "gatewayloadbalancer", "", "available", subnet_ids=ids
                )
        draft.firewalls[arn] = Firewall(arn, endpoint_ids)
