"""What S3 Express costs at the NAT gateways, as JSON."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from express_path_cli.cost.charges import Amount, Measured, by_metric, by_zone
from express_path_cli.cost.costing import NatCost
from express_path_cli.cost.report import CostReport
from express_path_cli.formats.cost_wording import LEFT_ASIDE, UPPER_BOUND
from express_path_cli.formats.nat_json import nat_fields

SCHEMA_VERSION = 1


def as_cost_json(report: CostReport) -> str:
    """One document; null stands for what could not be read, and complete tells whether a sum has all its parts."""
    bounds = [each.bound for each in report.gateways]
    document = {
        "schemaVersion": SCHEMA_VERSION,
        "meaning": f"{UPPER_BOUND} {LEFT_ASIDE}",
        "start": _time(report.window.start),
        "end": _time(report.window.end),
        "days": report.window.days,
        "upperBound": _sum(bounds, all_read=report.all_read),
        "measured": _measured_sum(report),
        "natGateways": [_gateway(each) for each in report.gateways],
        "natInstances": [nat_fields(each.nat) for each in report.instances],
    }
    return json.dumps(document, indent=2) + "\n"


def _sum(amounts: Sequence[Amount | None], *, all_read: bool) -> dict[str, Any]:
    known = [each for each in amounts if each]
    total = Amount(*(sum(column) for column in zip(*known, strict=True))) if known else Amount(0, 0, 0)
    return {**_amount(total), "complete": all_read and len(known) == len(amounts)}


def _measured_sum(report: CostReport) -> dict[str, Any] | None:
    if not report.log_group:
        return None
    amounts = [each.measured.amount if each.measured else None for each in report.gateways]
    return {
        **_sum(amounts, all_read=report.all_read),
        "logGroup": report.log_group,
        "bytesScanned": round(report.bytes_scanned),
    }


def _gateway(cost: NatCost) -> dict[str, Any]:
    series = cost.series
    return {
        **nat_fields(cost.nat),
        "bytes": {name: round(value) for name, value in by_metric(series).items()} if series is not None else None,
        "bytesByZone": {zone: round(value) for zone, value in by_zone(series).items()} if series is not None else None,
        "usdPerGb": cost.price.usd_per_gb if cost.price else None,
        "priceBasis": cost.price.basis if cost.price else None,
        "upperBound": _amount(cost.bound) if cost.bound else None,
        "measured": _measured(cost.measured) if cost.measured else None,
    }


def _amount(amount: Amount) -> dict[str, Any]:
    return {"bytes": round(amount.bytes), "usd": round(amount.usd, 6), "usdPerMonth": round(amount.usd_a_month, 6)}


def _measured(measured: Measured) -> dict[str, Any]:
    return {
        "start": _time(measured.window.start),
        "end": _time(measured.window.end),
        **_amount(measured.amount),
        "share": measured.share,
        "atLeast": not measured.whole,
    }


def _time(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")
