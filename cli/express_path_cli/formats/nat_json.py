"""A NAT on a flagged path, as JSON has it."""

from typing import Any

from express_path_cli.flagged_nats import FlaggedNat


def nat_fields(nat: FlaggedNat) -> dict[str, Any]:
    """What it is, whose, and who sends S3 Express traffic through it."""
    return {
        "id": nat.id,
        "kind": nat.kind,
        "accountId": nat.account_id,
        "region": nat.region,
        "vpcId": nat.vpc_id,
        "subnetIds": list(nat.subnet_ids),
        "routeTableIds": list(nat.route_table_ids),
    }
