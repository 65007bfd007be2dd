"""The JSON fields of a NAT on a flagged path."""

from typing import Any

from express_path_cli.nat.crossed_nats import CrossedNat


def nat_fields(nat: CrossedNat) -> dict[str, Any]:
    """Return its id, kind and owner, and the subnets that send S3 Express traffic through it."""
    return {
        "id": nat.id,
        "kind": nat.kind,
        "accountId": nat.account_id,
        "region": nat.region,
        "vpcId": nat.vpc_id,
        "subnetIds": list(nat.subnet_ids),
        "routeTableIds": list(nat.route_table_ids),
    }
