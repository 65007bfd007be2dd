"""The families of resource types: what each removes from a network before a change, and what it adds afterwards.

ADD of a family has a function for each of its types, and REMOVE one for what does not go by the resource's own id. A new
type is a row in one of these modules, or with an id of its own, also one in KIND_OF_TYPE (resource.py). The type of
CloudFormation that is like it is a row in _TYPES (cloudformation.py). A type that changes no path is in harmless.py. Every
other type leaves paths unknown, so a test of a new type shows which subnets it leaves decided.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from express_path_cli.sources.change.changed_network import ChangedNetwork, Effect
from express_path_cli.sources.change.cloudformation import has_only_harmless
from express_path_cli.sources.change.families import (
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
from express_path_cli.sources.change.harmless import changes_nothing, is_harmless
from express_path_cli.sources.change.resource import GONE, MADE_WITH, Action, Resource

_FAMILIES = (vpcs, gateways, interfaces, firewalls, prefix_lists, tables, endpoints, routes, transit_gateways)
_STAGES: Sequence[Mapping[str, Effect]] = (*(family.ADD for family in _FAMILIES), vpcs.ADD_LAST)
"""What adds the resources of each type, in this order: what a route leads to before the route, and tables before what is in
them."""
_REMOVING: Mapping[str, Effect] = {kind: remove for family in _FAMILIES for kind, remove in family.REMOVE.items()}
MODELLED = frozenset[str]().union(*_STAGES)
"""The types of resources whose effect on paths is known."""
NAMED = (*vpcs.SUBNETS, *tables.TABLES, "aws_vpc_endpoint")
"""The types of resources that a reader finds by their addresses."""


def lay(network: ChangedNetwork, resources: Sequence[Resource]) -> None:
    """Lay resources over a network: first everything is removed that goes, then everything is added."""
    _remove(network, resources)
    stays = [one for one in resources if one.action is not Action.DELETE]
    of_type: defaultdict[str, list[Resource]] = defaultdict(list)
    for resource in stays:
        if network.counts(resource):
            of_type[resource.type].append(resource)
    for stage in _STAGES:
        for kind, add in stage.items():
            for resource in of_type[kind]:
                add(network, resource)
    routes.place_possible(network)
    tables.associate_possible(network)
    tables.add_what_is_not_shown(network, stays)
    for resource in resources:
        if _may_change_paths(resource):
            network.leave_undecided(resource)
        elif resource.type in NAMED and resource.action is not Action.DELETE:
            network.noted.addresses[network.real(resource.id)] = resource.address


def _may_change_paths(resource: Resource) -> bool:
    """Return whether a resource may change paths in a way that is not modelled."""
    if resource.type in MODELLED or resource.action is Action.KEEP:
        return False
    if resource.type == "aws_cloudformation_stack":
        versions = [arguments for arguments in (resource.before, resource.after) if arguments.values]
        return not all(has_only_harmless(arguments.text("template_body")) for arguments in versions)
    return not is_harmless(resource.type) and not changes_nothing(resource)


def _remove(network: ChangedNetwork, resources: Iterable[Resource]) -> None:
    """Remove what goes, and blackhole the routes to it. A default resource stays in AWS, unless it says force_destroy.

    https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/default_subnet
    """
    for resource in resources:
        if resource.type in _REMOVING and resource.action is not Action.KEEP:
            _REMOVING[resource.type](network, resource)
        is_default = resource.type.startswith("aws_default_") and resource.before.known("force_destroy") is not True
        if resource.action in GONE and not is_default:
            made = [resource.before.text(attribute) for kind, attribute in MADE_WITH if kind == resource.type]
            for one in filter(None, (resource.id_before, *made)):
                network.note(one, resource)
                network.remove(one)
    for table in (*network.records.tables.values(), *network.records.transit_tables.values()):
        table.blackhole(network.gone)
