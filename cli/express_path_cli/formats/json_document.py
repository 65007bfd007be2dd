"""Verdicts as JSON, in the shape that other tools rely on."""

import json
from functools import lru_cache

from express_path.domain.path.outcomes import Hop
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.result import Result

SCHEMA_VERSION = 1

# One row as json.dumps(..., indent=2) writes it, which for 100,000 rows takes the encoder several seconds.
_ROW = """    {
      "accountId": %s,
      "region": %s,
      "vpcId": %s,
      "subnetId": %s,
      "availabilityZoneId": %s,
      "routeTableId": %s,
      "compliance": %s,
      "reason": %s,
      "annotation": %s,
      "path": %s
    }"""
_text = lru_cache(maxsize=1 << 16)(json.dumps)


def as_json(result: Result) -> str:
    """All verdicts as one JSON document; routeTableId is null where the table in force cannot be seen."""
    if not result.verdicts:
        return json.dumps({"schemaVersion": SCHEMA_VERSION, "subnets": []}, indent=2) + "\n"
    rows = ",\n".join(map(_row, result.verdicts))
    return f'{{\n  "schemaVersion": {SCHEMA_VERSION},\n  "subnets": [\n{rows}\n  ]\n}}\n'


def _row(verdict: Verdict) -> str:
    return _ROW % (*map(_text, verdict[: Verdict._fields.index("path")]), _path(verdict.path))


@lru_cache(maxsize=1 << 14)
def _path(path: tuple[Hop, ...]) -> str:
    hops = [{"kind": hop.kind, "id": hop.id, "destination": hop.destination} for hop in path]
    return json.dumps(hops, indent=2).replace("\n", "\n      ")
