"""Dumps of a network that changes between two scans: each subnet has its own route table and a path by name."""

from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree

from tests.support.network_files import write_dump

ROUTES = {
    "nat": ["0.0.0.0/0 -> nat-app"],
    "endpoint": ["0.0.0.0/0 -> nat-app", "pl-s3express -> vpce-s3express"],
    "partly": ["pl-s3express -> vpce-s3express", "44.220.0.0/16 -> nat-app"],
    "internet": ["0.0.0.0/0 -> igw-app"],
    "dropped": ["0.0.0.0/0 -> nat-deleted blackhole"],
    "isolated": [],
    "unresolved": ["0.0.0.0/0 -> vgw-office"],
    "excluded": ["0.0.0.0/0 -> nat-app"],
}
"""The routes of a subnet's table, by the name of its path."""


def dump_with(folder: Path, paths: Mapping[str, str], account: str = "123456789012", region: str = "us-east-1") -> Path:
    """Write the dump of a VPC whose subnets have these paths, instead of the one that was there, and return its folder.

    A subnet is `subnet-<its name>` in `vpc-app`, and its NAT gateway is in a public subnet, which is not flagged.
    """
    rmtree(folder, ignore_errors=True)
    subnets: dict[str, dict[str, object]] = {"subnet-public": {"cidr": "10.0.0.0/24", "map_public_ip": True}}
    tables: dict[str, dict[str, object]] = {
        "rtb-main": {"main": True},
        "rtb-public": {"subnets": ["subnet-public"], "routes": ROUTES["internet"]},
    }
    for number, (name, path) in enumerate(paths.items(), start=1):
        subnets[f"subnet-{name}"] = {"cidr": f"10.0.{number}.0/24"}
        if path == "excluded":
            subnets[f"subnet-{name}"]["tags"] = {"express-path:exclude": ""}
        tables[f"rtb-{name}"] = {"subnets": [f"subnet-{name}"], "routes": ROUTES[path]}
    vpc = {
        "subnets": subnets,
        "route_tables": tables,
        "nat_gateways": {"nat-app": {"subnet": "subnet-public"}},
        "gateway_endpoints": {"vpce-s3express": {}},
    }
    write_dump(folder, {"account": account, "region": region, "vpcs": {"vpc-app": vpc}})
    return folder
