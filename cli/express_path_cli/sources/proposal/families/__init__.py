"""The families of resource types: what each removes from a network before a change, and what it adds afterwards."""

from collections.abc import Iterable, Sequence

from express_path_cli.sources.proposal.draft import Draft
from express_path_cli.sources.proposal.families import (
    endpoints,
    firewalls,
    gateways,
    interfaces,
    prefix_lists,
    routes,
    tables,
    transit_gateways,
    vpcs,
)
from express_path_cli.sources.proposal.harmless import is_harmless
from express_path_cli.sources.proposal.resource import GONE, MADE_WITH, Action, Resource

_FAMILIES = (vpcs, gateways, interfaces, firewalls, prefix_lists, tables, endpoints, routes, transit_gateways)
"""In the order in which they are laid: what a route leads to before the route, and tables before what is in them."""
MODELLED = frozenset[str]().union(*(family.TYPES for family in _FAMILIES))
"""The types of resources whose effect on paths is known."""
NAMED = (*vpcs.SUBNETS, *tables.TABLES)
"""The types of resources that a reader finds by their addresses."""


def lay(draft: Draft, resources: Sequence[Resource]) -> None:
    """Lay resources over a network: first everything is removed that goes, then everything is added."""
    if draft.has_base:
        _remove(draft, resources)
    stays = [one for one in resources if one.action is not Action.DELETE]
    changed = [one for one in stays if draft.counts(one)]
    for family in _FAMILIES:
        family.add(draft, [one for one in changed if one.type in family.TYPES])
    tables.add_what_is_not_shown(draft, stays)
    vpcs.add_changes_of_everything(draft, resources)
    vpcs.add_tags_and_local_routes(draft, changed)
    for resource in resources:
        if resource.type not in MODELLED and resource.action is not Action.KEEP and not is_harmless(resource.type):
            draft.leave_undecided(resource)
        elif resource.type in NAMED and resource.action is not Action.DELETE:
            draft.addresses[draft.same_table.get(resource.id, resource.id)] = resource.address


def _remove(draft: Draft, resources: Iterable[Resource]) -> None:
    """Remove what goes, and blackhole the routes to it. A default resource stays in AWS, unless it says force_destroy.

    https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/default_subnet
    """
    for resource in resources:
        for family in _FAMILIES:
            if resource.type in family.TYPES and resource.action is not Action.KEEP:
                family.remove(draft, resource)
        is_default = resource.type.startswith("aws_default_") and resource.before.known("force_destroy") is not True
        if resource.action in GONE and not is_default:
            made = [resource.before.text(attribute) for kind, attribute in MADE_WITH if kind == resource.type]
            for one in filter(None, (resource.id_before, *made)):
                draft.remove(one)
    for table in (*draft.tables.values(), *draft.transit_tables.values()):
        table.blackhole(draft.gone)
