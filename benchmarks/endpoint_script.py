"""A short script that looks for endpoints, as many people have one: it is compared in `benchmarks.peers`.

It prints, as JSON, the ids of the subnets that use a NAT gateway and are in a VPC without an s3express endpoint.
"""

import json
from typing import Any

import boto3

ec2: Any = boto3.client("ec2")


def everything(operation: str, key: str) -> list[dict[str, Any]]:
    """Return the resources on all pages of an operation."""
    return [found for page in ec2.get_paginator(operation).paginate() for found in page[key]]


service = f"com.amazonaws.{ec2.meta.region_name}.s3express"
endpoints = everything("describe_vpc_endpoints", "VpcEndpoints")
served = {endpoint["VpcId"] for endpoint in endpoints if endpoint["ServiceName"] == service}
tables = {}
for table in everything("describe_route_tables", "RouteTables"):
    for association in table["Associations"]:
        tables[association.get("SubnetId") or association.get("GatewayId") or table["VpcId"]] = table
flagged = []
for subnet in everything("describe_subnets", "Subnets"):
    governing = tables.get(subnet["SubnetId"]) or tables.get(subnet["VpcId"], {"Routes": []})
    defaults = [route for route in governing["Routes"] if route.get("DestinationCidrBlock") == "0.0.0.0/0"]
    if subnet["VpcId"] not in served and any("NatGatewayId" in route for route in defaults):
        flagged.append(subnet["SubnetId"])
print(json.dumps(flagged))
