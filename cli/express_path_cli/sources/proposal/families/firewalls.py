"""AWS Network Firewall, whose endpoints traffic passes through."""

from dataclasses import replace

from express_path.domain.network.resources import Firewall, VpcEndpoint
from express_path_cli.sources.proposal.draft import Draft
from express_path_cli.sources.proposal.resource import GONE, Possible, Resource, UnknownId, firewall_endpoints


def _remove(draft: Draft, resource: Resource) -> None:
    """Remove the endpoints of a firewall: routes to them become blackholes."""
    firewall = draft.firewalls.get(resource.id_before)
    for endpoint_id in firewall.endpoint_ids if firewall and resource.action in GONE else ():
        draft.remove(endpoint_id)


def _add(draft: Draft, resource: Resource) -> None:
    """Add a firewall, whose id is its ARN, and its endpoints, one in each of its subnets."""
    after, known = resource.after, draft.firewalls.get(resource.id)
    owner_id = resource.account_id or draft.account
    subnet_ids = firewall_endpoints(resource.address, after.values)
    endpoint_ids = known.endpoint_ids if known else tuple(subnet_ids)
    for endpoint_id in endpoint_ids:
        if endpoint_id not in draft.endpoints:
            ids = (subnet_ids.get(endpoint_id) or after.unknown("subnet_mapping"),)
            draft.endpoints[endpoint_id] = VpcEndpoint(
                endpoint_id,
                after.one("vpc_id"),
                "gatewayloadbalancer",
                "",
                "available",
                subnet_ids=ids,
                owner_id=owner_id,
            )
    draft.firewalls[resource.id] = known or Firewall(resource.id, endpoint_ids, owner_id=owner_id)


def one_of(draft: Draft, possible: Possible, name: UnknownId) -> bool:
    """Add what stands for any of several endpoints of one firewall: the worst of their ways counts.

    Return whether all of them are such endpoints. AWS lists the endpoints of a firewall in no order.
    """
    firewall = next((one for one in draft.firewalls.values() if {*possible.ids} <= {*one.endpoint_ids}), None)
    if possible.is_open or not possible.ids or firewall is None or not draft.endpoints.keys() >= {*possible.ids}:
        return False
    every = [draft.endpoints[endpoint_id] for endpoint_id in possible.ids]
    subnet_ids = tuple(subnet_id for one in every for subnet_id in one.subnet_ids)
    draft.endpoints[name] = replace(every[0], id=name, subnet_ids=subnet_ids)
    draft.firewalls[firewall.arn] = replace(firewall, endpoint_ids=(*firewall.endpoint_ids, name))
    return True


ADD = {"aws_networkfirewall_firewall": _add}
REMOVE = {"aws_networkfirewall_firewall": _remove}
