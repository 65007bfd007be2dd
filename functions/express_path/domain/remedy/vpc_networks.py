"""The part of a snapshot that belongs to one VPC."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol, TypeVar

from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer


class _InVpc(Protocol):
    @property
    def vpc_id(self) -> str:
        """The VPC of the resource."""


_Resource = TypeVar("_Resource", bound=_InVpc)


class VpcNetworks:
    """The VPCs of a snapshot, each with its own subnets, route tables and endpoints.

    Functions that look at every subnet of a route table are fast on one VPC, and slow on a Region with 100,000 subnets.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        """Group the resources by VPC."""
        self._snapshot = snapshot
        self._subnets = _by_vpc(snapshot.subnets)
        self._route_tables = _by_vpc(snapshot.route_tables)
        self._vpc_endpoints = _by_vpc(snapshot.vpc_endpoints)
        self._tracers: dict[str, Tracer] = {}

    def tracer(self, vpc_id: str) -> Tracer:
        """Return a tracer of one VPC; it finds governing route tables, but follows no path out of the VPC."""
        if vpc_id not in self._tracers:
            self._tracers[vpc_id] = Tracer(
                replace(
                    self._snapshot,
                    subnets=self._subnets.get(vpc_id, {}),
                    route_tables=self._route_tables.get(vpc_id, {}),
                    vpc_endpoints=self._vpc_endpoints.get(vpc_id, {}),
                )
            )
        return self._tracers[vpc_id]


def _by_vpc(resources: Mapping[str, _Resource]) -> Mapping[str, Mapping[str, _Resource]]:
    groups: dict[str, dict[str, _Resource]] = defaultdict(dict)
    for resource_id, resource in resources.items():
        groups[resource.vpc_id][resource_id] = resource
    return groups
