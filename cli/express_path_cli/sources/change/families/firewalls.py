"""AWS Network Firewall, whose endpoints traffic passes through."""

from dataclasses import replace

from express_path.domain.network.resources import Firewall, VpcEndpoint
from express_path_cli.sources.change.changed_network import ChangedNetwork
from express_path_cli.sources.change.resource import GONE, Possible, Resource, UnknownId, firewall_endpoints


def _remove(network: ChangedNetwork, resource: Resource) -> None:
    """Remove the endpoints of a firewall: routes to them become blackholes."""
    firewall = network.firewalls.get(resource.id_before)
    for endpoint_id in firewall.endpoint_ids if firewall and resource.action in GONE else ():
        network.remove(endpoint_id)


def _add(network: ChangedNetwork, resource: Resource) -> None:
    """Add a firewall, whose id is its ARN, and its endpoints, one in each of its subnets."""
    after, known = resource.after, network.firewalls.get(resource.id)
    owner_id = resource.account_id or network.account
    subnet_ids = firewall_endpoints(resource.address, after.values)
    endpoint_ids = known.endpoint_ids if known else tuple(subnet_ids)
    for endpoint_id in endpoint_ids:
        if endpoint_id not in network.endpoints:
            ids = (subnet_ids.get(endpoint_id) or after.unknown("subnet_mapping"),)
            network.endpoints[endpoint_id] = VpcEndpoint(
                endpoint_id,
                after.one("vpc_id"),
                "gatewayloadbalancer",
                "",
                "available",
                subnet_ids=ids,
                owner_id=owner_id,
            )
    network.firewalls[resource.id] = known or Firewall(resource.id, endpoint_ids, owner_id=owner_id)


def one_of(network: ChangedNetwork, possible: Possible, name: UnknownId) -> bool:
    """Add what stands for any of several endpoints of one firewall: the worst of their ways counts.

    Return whether all of them are such endpoints. AWS lists the endpoints of a firewall in no order.
    """
    firewall = next((one for one in network.firewalls.values() if {*possible.ids} <= {*one.endpoint_ids}), None)
    if possible.is_open or not possible.ids or firewall is None or not network.endpoints.keys() >= {*possible.ids}:
        return False
    every = [network.endpoints[endpoint_id] for endpoint_id in possible.ids]
    subnet_ids = tuple(subnet_id for one in every for subnet_id in one.subnet_ids)
    network.endpoints[name] = replace(every[0], id=name, subnet_ids=subnet_ids)
    network.firewalls[firewall.arn] = replace(firewall, endpoint_ids=(*firewall.endpoint_ids, name))
    return True


ADD = {"aws_networkfirewall_firewall": _add}
REMOVE = {"aws_networkfirewall_firewall": _remove}
