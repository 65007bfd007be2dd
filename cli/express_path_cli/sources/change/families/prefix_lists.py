"""Prefix lists of the customer, whose entries are destinations of routes."""

from dataclasses import replace

from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import PrefixList
from express_path_cli.sources.change.changed_network import ChangedNetwork, cidr_of
from express_path_cli.sources.change.resource import Resource


def _remove_entry(network: ChangedNetwork, resource: Resource) -> None:
    listed = network.records.lists.get(resource.before.text("prefix_list_id"))
    if listed and listed.cidrs is not None:
        cidr = cidr_of(resource.before.text("cidr"))
        network.records.lists[listed.id] = replace(listed, cidrs=tuple(one for one in listed.cidrs if one != cidr))


def _add_list(network: ChangedNetwork, resource: Resource) -> None:
    after = resource.after
    family = Family.IPV6 if after.text("address_family") == "IPv6" else Family.IPV4
    read = [cidr_of(block.text("cidr")) for block in after.blocks("entry")]
    cidrs = None if None in read or after.is_unknown("entry") else tuple(cidr for cidr in read if cidr)
    new = PrefixList(resource.id, after.text("name"), family, cidrs, aws_owned=False)
    network.put(network.records.lists, resource, new, name="name", cidrs="entry")


def _add_entry(network: ChangedNetwork, resource: Resource) -> None:
    after = resource.after
    named, cidr = after.named("prefix_list_id"), cidr_of(after.known("cidr"))
    for list_id in named.among(network.records.lists):
        listed = network.records.lists[list_id]
        if listed.cidrs is not None and not listed.aws_owned:
            cidrs = (*listed.cidrs, cidr) if cidr and named.certain else None
            network.records.lists[list_id] = replace(listed, cidrs=cidrs)


ADD = {"aws_ec2_managed_prefix_list": _add_list, "aws_ec2_managed_prefix_list_entry": _add_entry}
REMOVE = {"aws_ec2_managed_prefix_list_entry": _remove_entry}
