"""What S3 Express costs at the NAT gateways, as JSON."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from express_path_cli.findings.formats.html.additions import COST_SCHEMA_VERSION
from express_path_cli.traffic.charges import Amount, Measured, bytes_by_metric, charged_bytes_by_zone, total_of
from express_path_cli.traffic.cost_report import CostReport
from express_path_cli.traffic.cost_wording import HOURLY_CHARGES, UPPER_BOUND
from express_path_cli.traffic.costing import NatCost
from express_path_cli.traffic.nat_json import nat_fields


def as_cost_json(report: CostReport) -> str:
    """Return one document; a value that could not be read is null, and complete says whether a sum has all parts."""
    bounds = [cost.bound for cost in report.gateways]
    document = {
        "schemaVersion": COST_SCHEMA_VERSION,
        "meaning": f"{UPPER_BOUND} {HOURLY_CHARGES}",
        "start": _time(report.window.start),
        "end": _time(report.window.end),
        "days": report.window.days,
        "upperBound": _sum(bounds, all_read=report.all_read),
        "measured": _measured_sum(report),
        "natGateways": [_gateway(cost) for cost in report.gateways],
        "natInstances": [nat_fields(cost.nat) for cost in report.instances],
    }
    return json.dumps(document, indent=2) + "\n"


def _sum(amounts: Sequence[Amount | None], *, all_read: bool) -> dict[str, Any]:
    known = [amount for amount in amounts if amount]
    return {**_amount(total_of(known)), "complete": all_read and len(known) == len(amounts)}


def _measured_sum(report: CostReport) -> dict[str, Any] | None:
    if not report.log_group:
        return None
    amounts = [cost.measured.amount if cost.measured else None for cost in report.gateways]
    return {
        **_sum(amounts, all_read=report.all_read),
        "logGroup": report.log_group,
        "bytesScanned": round(report.bytes_scanned),
    }


def _gateway(cost: NatCost) -> dict[str, Any]:
    return {
        **nat_fields(cost.nat),
        "bytes": None if cost.series is None else _rounded(bytes_by_metric(cost.series)),
        "bytesByZone": None if cost.series is None else _rounded(charged_bytes_by_zone(cost.series)),
        "usdPerGb": cost.price.usd_per_gb if cost.price else None,
        "priceBasis": cost.price.basis if cost.price else None,
        "upperBound": _amount(cost.bound) if cost.bound else None,
        "measured": _measured(cost.measured) if cost.measured else None,
    }


def _rounded(values: Mapping[str, float]) -> dict[str, int]:
    return {name: round(value) for name, value in values.items()}


def _amount(amount: Amount) -> dict[str, Any]:
    return {"bytes": round(amount.bytes), "usd": round(amount.usd, 6), "usdPerMonth": round(amount.usd_per_month, 6)}


def _measured(measured: Measured) -> dict[str, Any]:
    return {
        "start": _time(measured.window.start),
        "end": _time(measured.window.end),
        **_amount(measured.amount),
        "share": measured.share,
        "atLeast": not measured.complete,
    }


def _time(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")
