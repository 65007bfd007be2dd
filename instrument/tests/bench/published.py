"""The published tables, and the measurements that they show.

The files in recorded/ have the published values and nothing else. The throughput of whole objects of 32 MB follows from
Gbit/s; what was not published is empty or 0.
"""

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec.structs import replace

from express_path_instrument.bench.results import BenchResult, Client, Kind, Latency, MeasuredPath, Step, Target

RECORDED = Path(__file__).parent / "recorded"
OBJECT_BYTES = 32_000_000


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a published table."""
    with (RECORDED / f"published-{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _ceiling(path: str) -> BenchResult:
    steps = (
        Step(
            repeat=1,
            seconds=0,
            requests=0,
            bytes=0,
            gbps=float(row[f"{path} Gbit/s"]),
            requests_per_second=float(row[f"{path} Gbit/s"]) * 1e9 / 8 / OBJECT_BYTES,
            latency=Latency(p99=float(row[f"{path} p99 ms"])),
            connections=int(row["connections"]),
            cpu_percent=float(row[f"{path} client CPU %"]) if f"{path} client CPU %" in row else None,
        )
        for row in rows("nat-ceiling")
    )
    made_at = datetime(2026, 1, 1, tzinfo=UTC)
    client, target = Client("", 0, "", ""), Target("published", "")
    return BenchResult(Kind.GET, made_at, None, client, target, OBJECT_BYTES, 1, tuple(steps))


def in_turns(paths: str = "ABAB") -> dict[str, BenchResult]:
    """Return the measurements as if they had been made in turns: A is the NAT gateway, B the endpoint."""
    return {
        f"{path}{turn}": replace(
            nat() if path == "A" else endpoint(),
            path=MeasuredPath("NON_COMPLIANT" if path == "A" else "COMPLIANT", "", (path,)),
            made_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=turn),
        )
        for turn, path in enumerate(paths, start=1)
    }


def nat() -> BenchResult:
    """Return the published measurement of a NAT gateway."""
    return _ceiling("NAT")


def endpoint() -> BenchResult:
    """Return the published measurement of a gateway endpoint."""
    return _ceiling("endpoint")
