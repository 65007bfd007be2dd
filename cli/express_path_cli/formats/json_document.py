"""Verdicts as JSON, in the shape that other tools rely on."""

from collections.abc import Iterator
from typing import Any

from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.formats.json_rows import json_document
from express_path_cli.resource_labels import ResourceLabels
from express_path_cli.result import Result

SCHEMA_VERSION = 1


def as_json(result: Result) -> Iterator[str]:
    """Yield all verdicts as one JSON document; routeTableId is null if the subnet's route table cannot be read.

    `names` and `tags` contain only those that exist.
    """
    labels = ResourceLabels(result.views, result.tag_keys)
    rows = (_row(verdict, labels) for verdict in result.verdicts)
    return json_document({"schemaVersion": SCHEMA_VERSION, "subnets": []}, "subnets", rows)


def _row(verdict: Verdict, labels: ResourceLabels) -> dict[str, Any]:
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
        "names": labels.names(verdict).fields(),
        "tags": labels.tags(verdict),
    }
