"""The families of resource types: what each removes from a network before a change, and what it adds afterwards."""

from collections.abc import Iterable
from dataclasses import replace

from express_path_cli.sources.proposal.draft import Draft, Laid
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
from express_path_cli.sources.proposal.resource import GONE, Action, Resource

_FAMILIES = (vpcs, gateways, interfaces, firewalls, prefix_lists, tables, endpoints, routes, transit_gateways)
"""In the order in which they are laid: what a route leads to before the route, and tables before what is in them."""
MODELLED = frozenset[str]().union(*(family.TYPES for family in _FAMILIES))
"""The types of resources whose effect on paths is known."""


def lay(draft: Draft, resources: Iterable[Resource]) -> Laid:
    """Lay resources over a network: first everything is removed that goes, then everything is added."""
    every = list(resources)
    for resource in every:
        if resource.type not in MODELLED and resource.action is not Action.KEEP and not is_harmless(resource.type):
            draft.undecided[resource.address] = resource
    if draft.has_base:
        _remove(draft, every)
    stays = [one for one in every if one.action is not Action.DELETE]
    for family in _FAMILIES:
        family.add(draft, [one for one in stays if one.type in family.TYPES])
    tables.add_unknown_associations(draft, stays)
    vpcs.add_changes_of_everything(draft, every)
    vpcs.add_tags_and_local_routes(draft, stays)
    return draft.finished()


def _remove(draft: Draft, resources: Iterable[Resource]) -> None:
    """Remove what goes. A route whose target is gone is a blackhole, unless it changes too."""
    for resource in resources:
        for family in _FAMILIES:
            if resource.type in family.TYPES and resource.action is not Action.KEEP:
                family.remove(draft, resource)
        if resource.action in GONE and resource.id_before and not resource.type.startswith("aws_default_"):
            draft.gone.add(resource.id_before)
    for table in (*draft.tables.values(), *draft.transit_tables.values()):
        table.routes = [
            replace(route, state="blackhole") if route.target_id in draft.gone else route for route in table.routes
        ]
