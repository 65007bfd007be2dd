"""Reads the network through the EC2 API, as AWS Config's recorder does."""

from dataclasses import dataclass

from config_rule_sandbox.config.items.kinds import (
    INSTANCE,
    KINDS,
    NETWORK_INTERFACE,
    ROUTE_TABLE,
    Clients,
    Described,
    list_all,
)
from config_rule_sandbox.dynamic import Client


@dataclass(frozen=True, slots=True)
class Contained:
    """The parts of a network interface or an instance that others are related to."""

    resource_type: str
    resource_id: str
    subnet_id: str | None
    vpc_id: str | None


@dataclass(frozen=True, slots=True)
class Network:
    """All resources of the recorded types, by type and id, and what their subnets and VPCs contain."""

    resources: dict[str, dict[str, Described]]
    contained: list[Contained]

    def route_tables_of(self, subnet_id: str) -> list[str]:
        """Return the ids of the tables that are explicitly associated with a subnet; none if it uses the main one."""
        return [
            table_id
            for table_id, table in self.resources[ROUTE_TABLE].items()
            if subnet_id in [association.get("SubnetId") for association in table["Associations"]]
        ]

    def ids_in_vpc(self, resource_type: str, vpc_id: str) -> list[str]:
        """Return the ids of all resources of one type in a VPC."""
        return [
            resource_id
            for resource_id, resource in self.resources[resource_type].items()
            if resource["VpcId"] == vpc_id
        ]


def observe(client: Clients) -> Network:
    """Read the whole account and Region."""
    resources = {kind.resource_type: {found[kind.id_key]: found for found in kind.read(client)} for kind in KINDS}
    return Network(resources, _interfaces(client("ec2")) + _instances(client("ec2")))


def _interfaces(ec2: Client) -> list[Contained]:
    return [
        Contained(NETWORK_INTERFACE, interface["NetworkInterfaceId"], interface.get("SubnetId"), interface.get("VpcId"))
        for interface in list_all(ec2, "describe_network_interfaces", "NetworkInterfaces")
    ]


def _instances(ec2: Client) -> list[Contained]:
    reservations = list_all(ec2, "describe_instances", "Reservations")
    found = [instance for reservation in reservations for instance in reservation["Instances"]]
    return [
        Contained(INSTANCE, instance["InstanceId"], instance.get("SubnetId"), instance.get("VpcId"))
        for instance in found
        if instance["State"]["Name"] != "terminated"
    ]
