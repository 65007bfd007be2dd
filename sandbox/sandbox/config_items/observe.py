"""Reads the network through the EC2 API, as AWS Config's recorder does."""

from dataclasses import dataclass
from typing import Any

from botocore.client import BaseClient

from sandbox.config_items.kinds import DIRECTORY_BUCKET, INSTANCE, KINDS, NETWORK_INTERFACE, ROUTE_TABLE

Described = dict[str, Any]
"""One resource as boto3 returns it."""


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


def observe(ec2: BaseClient, s3: BaseClient) -> Network:
    """Read the whole account and Region with boto3 clients of EC2 and S3."""
    resources: dict[str, dict[str, Described]] = {}
    for kind in KINDS:
        pages = (ec2 if kind.service == "ec2" else s3).get_paginator(kind.paginator).paginate()
        found = [resource for page in pages for resource in page[kind.result]]
        if kind.resource_type == DIRECTORY_BUCKET:
            found = [_bucket(bucket) for bucket in found]
        resources[kind.resource_type] = {resource[kind.id_key]: resource for resource in found}
    return Network(resources, _interfaces(ec2) + _instances(ec2))


def _bucket(listed: Described) -> Described:
    """Return a listed directory bucket with the names of its CloudFormation type.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-s3express-directorybucket.html
    """
    zone = listed["Name"].split("--")[-2]
    redundancy = "SingleAvailabilityZone" if "-az" in zone else "SingleLocalZone"
    arn = listed["BucketArn"]
    return {"BucketName": listed["Name"], "LocationName": zone, "DataRedundancy": redundancy, "Arn": arn}


def _interfaces(ec2: BaseClient) -> list[Contained]:
    pages = ec2.get_paginator("describe_network_interfaces").paginate()
    return [
        Contained(NETWORK_INTERFACE, interface["NetworkInterfaceId"], interface.get("SubnetId"), interface.get("VpcId"))
        for page in pages
        for interface in page["NetworkInterfaces"]
    ]


def _instances(ec2: BaseClient) -> list[Contained]:
    pages = ec2.get_paginator("describe_instances").paginate()
    found = [
        instance for page in pages for reservation in page["Reservations"] for instance in reservation["Instances"]
    ]
    return [
        Contained(INSTANCE, instance["InstanceId"], instance.get("SubnetId"), instance.get("VpcId"))
        for instance in found
        if instance["State"]["Name"] != "terminated"
    ]
