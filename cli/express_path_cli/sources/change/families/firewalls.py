"""AWS Network Firewall, whose endpoints traffic passes through."""

from dataclasses import replace

from express_path.domain.network.resources import Firewall, VpcEndpoint
from express_path_cli.sources.change.changed_network import ChangedNetwork
from express_path_cli.sources.change.resource import GONE, Possible, Resource, UnknownId, firewall_endpoints


def _remove(network: ChangedNetwork, resource: Resource) -> None:
    """Remove the endpoints of a firewall: routes to them become blackholes."""
    firewall = network.records.firewalls.get(resource.id_before)
    for endpoint_id in firewall.endpoint_ids if firewall and resource.action in GONE else ():
        network.remove(endpoint_id)


def _add(network: ChangedNetwork, resource: Resource) -> None:
    """Add a firewall, whose id is its ARN, and its endpoints, one in each of its subnets."""
    after, known = resource.after, network.records.firewalls.get(resource.id)
    owner_id = resource.account_id or network.account
    subnet_ids = firewall_endpoints(resource.address, after.values)
    endpoint_ids = known.endpoint_ids if known else tuple(subnet_ids)
    for endpoint_id in endpoint_ids:
        if endpoint_id not in network.records.endpoints:
            ids = (subnet_ids.get(endpoint_id) or after.unknown("subnet_mapping"),)
            network.records.endpoints[endpoint_id] = VpcEndpoint(
                endpoint_id,
                after.one("vpc_id"),
                "gatewayloadbalancer",
                "",
                "available",
                subnet_ids=ids,
                owner_id=owner_id,
            )
    network.put(network.records.firewalls, resource, Firewall(resource.id, endpoint_ids, owner_id=owner_id))


def one_of(network: ChangedNetwork, possible: Possible, name: UnknownId) -> bool:
    """Add what stands for any of several endpoints of one firewall: the worst of their ways counts.

    Return whether all of them are such endpoints. AWS lists the endpoints of a firewall in no order.
    """
    firewalls = network.records.firewalls.values()
    firewall = next((record for record in firewalls if {*possible.ids} <= {*record.endpoint_ids}), None)
    if (
        possible.is_open
        or not possible.ids
        or firewall is None
        or not network.records.endpoints.keys() >= {*possible.ids}
    ):
        return False
    endpoints = [network.records.endpoints[endpoint_id] for endpoint_id in possible.ids]
    subnet_ids = tuple(subnet_id for endpoint in endpoints for subnet_id in endpoint.subnet_ids)
    network.records.endpoints[name] = replace(endpoints[0], id=name, subnet_ids=subnet_ids)
    network.records.firewalls[firewall.arn] = replace(firewall, endpoint_ids=(*firewall.endpoint_ids, name))
    return True


ADD = {"aws_networkfirewall_firewall": _add}
REMOVE = {"aws_networkfirewall_firewall": _remove}
