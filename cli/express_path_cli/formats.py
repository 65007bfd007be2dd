"""Verdicts as JSON, in the shape that other tools rely on."""

import json
from collections.abc import Sequence

from express_path.domain.verdict import Verdict

SCHEMA_VERSION = 1


def as_json(verdicts: Sequence[Verdict]) -> str:
    """All verdicts as one JSON document; routeTableId is null where the table in force cannot be seen."""
    document = {"schemaVersion": SCHEMA_VERSION, "subnets": [_row(each) for each in verdicts]}
    return json.dumps(document, indent=2)


def _row(verdict: Verdict) -> dict[str, object]:
    return {
        "accountId": verdict.account_id,
        "region": verdict.region,
        "vpcId": verdict.vpc_id,
        "subnetId": verdict.subnet_id,
        "availabilityZoneId": verdict.availability_zone_id,
        "routeTableId": verdict.route_table_id,
        "compliance": verdict.compliance,
        "reason": verdict.reason,
        "annotation": verdict.annotation,
        "path": [{"kind": hop.kind, "id": hop.id, "destination": hop.destination} for hop in verdict.path],
    }
