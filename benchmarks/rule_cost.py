"""What the rule itself costs a month, calculated from counts of the sandbox and from prices.

    python -m benchmarks rule_cost     print the tables in Markdown
    python -m benchmarks.rule_cost     write the tables of docs/deploy.md again

BENCHMARK_PRICES names another file of prices, in the format of benchmarks/prices.toml.
"""

import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.rule_cost_counts import PRIVATE_SUBNETS, VPCS, Counts, Occasions, counted_in_new_sandbox, scaled

ROOT = Path(__file__).parents[1]
PRICES = Path(os.environ.get("BENCHMARK_PRICES") or Path(__file__).with_name("prices.toml"))
DOCUMENT = ROOT / "docs" / "deploy.md"
Prices = Mapping[str, Mapping[str, float]]

SUBNETS = 1000
"""The subnets of one account and Region."""
PLACES = 100
"""The number of accounts, times their Regions, of the second column."""
SWEEPS = 30
"""Sweeps a month: one a day."""
VERDICT_CHANGES, OTHER_CHANGES = 20, 80
"""Changes a month of route tables: those that change the verdicts of their subnets, and those that do not."""
HEALS, HEAL_REQUESTS = 20, 40
"""Heals a month, and the requests to DynamoDB of one heal, rounded up."""
MEGABYTES = 1024
"""The memory of the function (template.yaml)."""
EVENT_SECONDS = 2.0
"""How long the function takes for a change: the time of template.yaml, with a slow EC2 API."""
ALARM = r"Type: AWS::CloudWatch::Alarm\n"
"""An alarm in template.yaml."""
SWEEP_SECONDS = 60.0 * SUBNETS / (VPCS * (PRIVATE_SUBNETS + 1)) * VPCS / 1000
"""How long a sweep takes: 60 seconds for 1,000 VPCs (template.yaml)."""


@dataclass(frozen=True, slots=True)
class Line:
    """One charge of a month: a quantity in one account and Region, at a price in dollars."""

    what: str
    quantity: float
    price: float

    @property
    def dollars(self) -> float:
        """The charge."""
        return self.quantity * self.price


def read_prices(path: Path = PRICES) -> Prices:
    """Return the prices of a file, by service and unit."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def monthly(occasions: Occasions) -> dict[str, float]:
    """Return the quantities of a month in one account and Region with SUBNETS subnets."""
    sweep = scaled(occasions.sweep, SUBNETS)
    runs: list[tuple[Counts, int]] = [
        (sweep, SWEEPS),
        (occasions.verdict_change, VERDICT_CHANGES),
        (occasions.other_change, OTHER_CHANGES),
    ]
    fields = ("items", "invocations", "evaluations", "metric_requests", "events", "log_bytes")
    month = {field: float(sum(getattr(counts, field) * times for counts, times in runs)) for field in fields}
    changed = (VERDICT_CHANGES * PRIVATE_SUBNETS) + HEALS
    event_runs = month["invocations"] - SWEEPS
    seconds = event_runs * EVENT_SECONDS + SWEEPS * SWEEP_SECONDS
    return month | {"changed": changed, "gigabyte_seconds": seconds * MEGABYTES / 1024}


def in_template(pattern: str) -> int:
    """Return how often the template matches a pattern."""
    return len(re.findall(pattern, (ROOT / "template.yaml").read_text("utf-8")))


def charges(occasions: Occasions, prices: Prices) -> list[Line]:
    """Return the charges of a month in one account and Region."""
    month = monthly(occasions)
    config, function, cloudwatch = prices["config"], prices["lambda"], prices["cloudwatch"]
    return [
        Line("AWS Config: evaluations", month["evaluations"], config["evaluation"]),
        Line(
            "AWS Config: items of changed verdicts (ResourceCompliance)", month["changed"], config["configuration_item"]
        ),
        Line("Lambda: requests", month["invocations"], function["request"]),
        Line("Lambda: GB-seconds", month["gigabyte_seconds"], function["gigabyte_second"]),
        Line("CloudWatch: metrics", len(occasions.gauges), cloudwatch["metric"]),
        Line("CloudWatch: metrics read", month["metric_requests"], cloudwatch["metric_request"]),
        Line("CloudWatch: alarms", in_template(ALARM), cloudwatch["alarm"]),
        Line("CloudWatch: GB of logs", month["log_bytes"] / 1e9, cloudwatch["log_gigabyte"]),
        Line("EventBridge: events", month["events"], prices["eventbridge"]["event"]),
        Line("DynamoDB: requests of heals", HEALS * HEAL_REQUESTS, prices["dynamodb"]["request"]),
        Line("Security Hub: findings", month["changed"], prices["security_hub"]["finding"]),
    ]


def cost_table(occasions: Occasions, prices: Prices) -> Iterator[str]:
    """Yield the lines of the table of charges."""
    lines = charges(occasions, prices)
    dashboard = prices["cloudwatch"]["dashboard"]
    yield f"| charge | quantity a month | price | {SUBNETS:,} subnets | {PLACES} accounts x Regions |"
    yield "|---|---:|---:|---:|---:|"
    for line in lines:
        one, all_places = _dollars(line.dollars), _dollars(line.dollars * PLACES)
        yield f"| {line.what} | {_number(line.quantity)} | {_price(line.price)} | {one} | {all_places} |"
    yield f"| CloudWatch: the dashboard of the organization | 1 | {_price(dashboard)} | | {_dollars(dashboard)} |"
    total = sum(line.dollars for line in lines)
    yield f"| **Total** | | | **{_dollars(total)}** | **{_dollars(total * PLACES + dashboard)}** |"


def comparison(occasions: Occasions, prices: Prices) -> Iterator[str]:
    """Yield the lines of the table that compares the rule with other ways to find the same subnets."""
    evaluation, analysis = prices["config"]["evaluation"], prices["reachability_analyzer"]["analysis"]
    vpcs = math.ceil(SUBNETS / (PRIVATE_SUBNETS + 1))
    month = monthly(occasions)
    events = month["invocations"] - SWEEPS
    total = sum(line.dollars for line in charges(occasions, prices))
    rows = [
        ("express-path, all charges", "every subnet, by its routes, after each change and daily", total),
        ("express-path, evaluations only", "the same", month["evaluations"] * evaluation),
        ("service-vpc-endpoint-enabled (AWS), daily", "every VPC: an endpoint exists", vpcs * SWEEPS * evaluation),
        ("All verdicts posted at each sweep", "every subnet, daily", SUBNETS * SWEEPS * evaluation),
        (
            "All verdicts posted for each event and sweep",
            "every subnet, after each change and daily",
            SUBNETS * (events + SWEEPS) * evaluation,
        ),
        ("Reachability Analyzer, once a month", "one path for each subnet", SUBNETS * analysis),
        ("Reachability Analyzer, daily", "one path for each subnet, daily", SUBNETS * SWEEPS * analysis),
    ]
    yield f"| way | what it checks | {SUBNETS:,} subnets |"
    yield "|---|---|---:|"
    yield from (f"| {way} | {what} | {_dollars(dollars)} |" for way, what, dollars in rows)


def counts_table(occasions: Occasions) -> Iterator[str]:
    """Yield the lines of the table of what was counted."""
    yield f"| occasion, with {occasions.sweep.subnets} subnets | items | invocations | evaluations | events |"
    yield "|---|---:|---:|---:|---:|"
    named = {
        "first sweep": occasions.first_sweep,
        "sweep without news": occasions.sweep,
        f"an endpoint for a table of {PRIVATE_SUBNETS} subnets": occasions.verdict_change,
        f"a tag of a table of {PRIVATE_SUBNETS} subnets": occasions.other_change,
    }
    for name, counts in named.items():
        yield f"| {name} | {counts.items} | {counts.invocations} | {counts.evaluations} | {counts.events} |"


def tables(occasions: Occasions, prices: Prices) -> dict[str, str]:
    """Return the tables of docs/deploy.md by name."""
    made = {
        "counts": counts_table(occasions),
        "charges": cost_table(occasions, prices),
        "comparison": comparison(occasions, prices),
    }
    return {name: "\n".join(lines) for name, lines in made.items()}


def written(text: str, occasions: Occasions, prices: Prices) -> str:
    """Return the document with current tables. A table follows the comment with its name."""
    for name, table in tables(occasions, prices).items():
        start = text.index(f"<!-- {name} -->\n") + len(f"<!-- {name} -->\n")
        text = f"{text[:start]}\n{table}\n\n{text[text.index('<!-- end -->', start) :]}"
    return text


def _number(quantity: float) -> str:
    return f"{quantity:,.0f}" if quantity == round(quantity) else f"{quantity:,.4f}"


def _price(dollars: float) -> str:
    return f"${dollars:.2f}" if dollars == round(dollars, 2) else f"${dollars:.10f}".rstrip("0")


def _dollars(dollars: float) -> str:
    return f"${dollars:,.2f}" if round(dollars, 2) or not dollars else "< $0.01"


def main() -> None:
    """Print the tables."""
    for table in tables(counted_in_new_sandbox(), read_prices()).values():
        print(f"{table}\n")


if __name__ == "__main__":
    current = written(DOCUMENT.read_text(encoding="utf-8"), counted_in_new_sandbox(), read_prices())
    DOCUMENT.write_text(current, encoding="utf-8")
