"""Expand a network file to a dump: the folder of JSON files that `express-path collect` and the AWS CLI write."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from express_path_cli.sources import dump
from tests.support.network_files.account_rows import directory_bucket_row, identity, shared_subnet_row
from tests.support.network_files.attached_rows import (
    association_response,
    firewall_response,
    gateway_endpoint_row,
    load_balancer_endpoint_row,
    network_interface_row,
)
from tests.support.network_files.prefix_list_rows import (
    S3EXPRESS_CIDRS,
    customer_row,
    entries_response,
    lists_of_aws,
    managed_row,
    prefix_list_row,
)
from tests.support.network_files.route_rows import route_table_row
from tests.support.network_files.transit_gateway_rows import (
    attachment_row,
    routes_response,
    transit_gateway_table_row,
    vpc_attachment_row,
)
from tests.support.network_files.vpc_rows import AccountRegion, Row, Vpc, nat_gateway_row, subnet_row, vpc_row

Options = Mapping[str, Any]
Resources = Mapping[str, Options | None]
"""Resources by id, each with its options; null for one that has none."""
Responses = dict[str, Mapping[str, Any]]
"""What each file of a dump holds, by the file's path below the dump's folder."""


def write_dump(folder: Path, network: Options) -> None:
    """Write the dump of one account and Region.

    Raises KeyError for a section, and TypeError for an option, that network files do not have.
    """
    place = AccountRegion(network.get("account", "123456789012"), network.get("region", "us-east-1"))
    sections = {"prefix_lists": {}} | {key: value for key, value in network.items() if key not in place._fields}
    responses: Responses = {dump.IDENTITY: identity(place)}
    for section, value in sections.items():
        responses |= SECTIONS[section](place, value)
    for path, response in responses.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(response) if response else "", encoding="utf-8")


def _listed(file: dump.DumpFile, rows: Sequence[Row]) -> Responses:
    return {file.name: {file.field: rows}}


def _options(resources: Resources | None) -> Iterator[tuple[str, Options]]:
    for resource_id, options in (resources or {}).items():
        yield resource_id, options or {}


def _vpc_files(place: AccountRegion, vpcs: Resources) -> Responses:
    rows: dict[dump.DumpFile, list[Row]] = {file: [] for file in dump.REQUIRED if file is not dump.PREFIX_LISTS}
    for vpc_id, options in _options(vpcs):
        _add_vpc(rows, place, vpc_id, **options)
    return {path: response for file, listed in rows.items() for path, response in _listed(file, listed).items()}


def _add_vpc(  # one parameter for each option of a network file
    rows: dict[dump.DumpFile, list[Row]],
    place: AccountRegion,
    vpc_id: str,
    *,
    cidr: str = "10.0.0.0/16",
    secondary_cidrs: Sequence[str] = (),
    ipv6: bool = False,
    owner: str = "",
    subnets: Resources | None = None,
    route_tables: Resources | None = None,
    nat_gateways: Resources | None = None,
    gateway_endpoints: Resources | None = None,
    gateway_load_balancer_endpoints: Resources | None = None,
    **options: Any,
) -> None:
    """Add the rows of a VPC and of its resources."""
    vpc = Vpc(vpc_id, owner or place.account, (cidr, *secondary_cidrs), ipv6, place)
    rows[dump.VPCS] += [vpc_row(vpc, **options)]
    rows[dump.SUBNETS] += [subnet_row(vpc, key, **value) for key, value in _options(subnets)]
    rows[dump.ROUTE_TABLES] += [route_table_row(vpc, key, **value) for key, value in _options(route_tables)]
    rows[dump.NAT_GATEWAYS] += [nat_gateway_row(vpc, key, **value) for key, value in _options(nat_gateways)]
    rows[dump.VPC_ENDPOINTS] += [
        *(gateway_endpoint_row(vpc, key, **value) for key, value in _options(gateway_endpoints)),
        *(load_balancer_endpoint_row(vpc, key, **value) for key, value in _options(gateway_load_balancer_endpoints)),
    ]


def _prefix_list_files(place: AccountRegion, section: Options) -> Responses:
    return _prefix_lists(place, **section)


def _prefix_lists(
    place: AccountRegion,
    *,
    s3express: Sequence[str] = S3EXPRESS_CIDRS,
    s3express_ipv6: bool = False,
    customers: Resources | None = None,
) -> Responses:
    """Return the files of prefix lists; a customer-managed list without entries is one that could not be read."""
    lists = lists_of_aws(place, s3express, s3express_ipv6=s3express_ipv6)
    responses = _listed(dump.PREFIX_LISTS, [prefix_list_row(row) for row in lists])
    if customers is None:
        return responses
    managed = [
        *(managed_row(place, row) for row in lists),
        *(customer_row(place, key, **value) for key, value in _options(customers)),
    ]
    responses |= _listed(dump.MANAGED_PREFIX_LISTS, managed)
    for list_id, options in _options(customers):
        if "entries" in options:
            path = f"{dump.ENTRIES_FOLDER}/{list_id}.json"
            responses[path] = entries_response(list_id, options["entries"])
    return responses


def _firewall_files(place: AccountRegion, firewalls: Resources) -> Responses:
    """Return the files of firewalls; null stands for a folder without dump, as without permission."""
    return {
        f"{dump.FIREWALLS_FOLDER}/{name}.json": firewall_response(place, name, **options)
        for name, options in _options(firewalls)
    }


def _association_files(place: AccountRegion, associations: Mapping[str, Options]) -> Responses:
    return {
        f"{dump.ASSOCIATIONS_FOLDER}/{name}.json": association_response(place, name, **options)
        for name, options in associations.items()
    }


def _interface_files(place: AccountRegion, interfaces: Resources) -> Responses:
    rows = [network_interface_row(place, key, **options) for key, options in _options(interfaces)]
    return _listed(dump.NETWORK_INTERFACES, rows)


def _transit_gateway_files(place: AccountRegion, section: Options) -> Responses:
    return _transit_gateway(**({"owner": place.account} | dict(section)))


def _transit_gateway(
    *,
    id: str,  # noqa: A002  # as the option is called
    owner: str,
    attachments: Mapping[str, Options],
    route_tables: Mapping[str, Sequence[str] | None] | None = None,
) -> Responses:
    """Return the files of a transit gateway; if a table is null, its routes could not be read."""
    every = [attachment_row(id, key, owner=owner, **options) for key, options in attachments.items()]
    of_vpcs = [vpc_attachment_row(id, key, owner, options) for key, options in attachments.items() if "vpc" in options]
    responses = _listed(dump.ATTACHMENTS, every) | _listed(dump.VPC_ATTACHMENTS, of_vpcs)
    if route_tables is None:
        return responses
    rows = [transit_gateway_table_row(id, table_id) for table_id in route_tables]
    responses |= _listed(dump.TRANSIT_GATEWAY_ROUTE_TABLES, rows)
    for table_id, routes in route_tables.items():
        if routes is not None:
            responses[f"{dump.ROUTES_FOLDER}/{table_id}.json"] = routes_response(routes, attachments)
    return responses


def _bucket_files(place: AccountRegion, names: Sequence[str]) -> Responses:
    return _listed(dump.DIRECTORY_BUCKETS, [directory_bucket_row(place, name) for name in names])


def _shared_subnet_files(place: AccountRegion, subnet_ids: Sequence[str]) -> Responses:
    return _listed(dump.SHARED_SUBNETS, [shared_subnet_row(place, subnet_id) for subnet_id in subnet_ids])


def _empty_files(_: AccountRegion, paths: Sequence[str]) -> Responses:
    return {path: {} for path in paths}


SECTIONS: dict[str, Callable[[AccountRegion, Any], Responses]] = {
    "vpcs": _vpc_files,
    "prefix_lists": _prefix_list_files,
    "network_interfaces": _interface_files,
    "firewalls": _firewall_files,
    "firewall_endpoint_associations": _association_files,
    "transit_gateway": _transit_gateway_files,
    "directory_buckets": _bucket_files,
    "shared_subnets": _shared_subnet_files,
    "empty_files": _empty_files,
}
"""What each section of a network file adds; an optional file is there only if its section is."""
