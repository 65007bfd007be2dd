"""What S3 Express traffic costs at each NAT, as `express-path cost` wrote it, for a report."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from express_path.errors import RecordError
from express_path.fields import Description, flag, identifier, nested, rows
from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.files import WrittenBy, read_json

COST_SCHEMA_VERSION = 1
"""The version of the JSON that `express-path cost --format json` writes."""
_DOCUMENT = "the costs"
_WRITTEN_BY = WrittenBy(
    "JSON output of express-path cost", "express-path cost --format json --output", COST_SCHEMA_VERSION, ["natGateways"]
)


@dataclass(frozen=True, slots=True)
class NatCharge:
    """What S3 Express traffic costs at a NAT gateway, in USD per month; None: not known.

    upper_bound: the most that it can cost. measured: what flow logs show; at_least: they show only a part.
    """

    upper_bound: float | None
    measured: float | None
    at_least: bool


@dataclass(frozen=True, slots=True)
class NatCosts:
    """The charges by the NAT's Region and id, and the days for which they were calculated, such as 2026-02-13."""

    start: str
    end: str
    by_nat: Mapping[tuple[str, str], NatCharge]


def read_costs(file: Path) -> NatCosts:
    """Return the costs in a file. Raise OptionError if it cannot be read or is not the output of `cost`."""
    document = read_json(file, _WRITTEN_BY, "--cost")
    try:
        return _costs(document)
    except RecordError as error:
        raise OptionError(f"--cost {file}: {error}", _WRITTEN_BY.hint(file)) from error


def _costs(document: Description) -> NatCosts:
    start, end = (identifier(document, field, _DOCUMENT).partition("T")[0] for field in ("start", "end"))
    gateways = rows(document, "natGateways", _DOCUMENT)
    by_nat = {
        (identifier(gateway, "region", "a NAT gateway"), identifier(gateway, "id", "a NAT gateway")): _charge(gateway)
        for gateway in gateways
    }
    return NatCosts(start, end, by_nat)


def _charge(gateway: Description) -> NatCharge:
    measured = nested(gateway, "measured", "a NAT gateway")
    bound = nested(gateway, "upperBound", "a NAT gateway")
    return NatCharge(_usd(bound), _usd(measured), flag(measured, "atLeast", "a NAT gateway"))


def _usd(amount: Description) -> float | None:
    """Return the US dollars per month of an amount; None if there is none."""
    if not amount:
        return None
    found = amount.get("usdPerMonth")
    if isinstance(found, bool) or not isinstance(found, int | float) or not isfinite(found) or found < 0:
        raise RecordError("an amount", "usdPerMonth", found, "a number of US dollars, 0 or more")
    return float(found)
