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

from benchmarks.pages import with_table
from benchmarks.rule_cost_counts import PRIVATE_SUBNETS, VPCS, Counts, Occasions, counted_in_new_sandbox, scaled

ROOT = Path(__file__).parents[1]
PRICES = Path(os.environ.get("BENCHMARK_PRICES") or Path(__file__).with_name("prices.toml"))
DOCUMENT = ROOT / "docs" / "deploy.md"
INTEGRATIONS, MONITORING = "integrations/template.yaml", "org/monitoring.yaml"
Prices = Mapping[str, Mapping[str, float]]

SWEEPS = 30
"""Sweeps a month: one a day."""
HEAL_REQUESTS = 40
"""The requests to DynamoDB of one heal, rounded up."""
HEAL_STEPS = 25
"""The steps of a heal that creates the endpoint, each of which Automation charges for."""
ACCOUNTS, REGIONS = (1, 40, 400), 3
"""The sizes of organizations, and the Regions of each account. An account in a Region is a place."""
BUSY_SHARE = 10
"""One place of so many is busy in an organization, and the others are idle."""
MEGABYTES = 1024
"""The memory of the function that evaluates (template.yaml)."""
CHECK_MEGABYTES, CHECK_SECONDS = 512, 10.0
"""The memory of the function that checks after each sweep (template.yaml), and how long it takes, rounded up."""
CHECK_METRICS = 2
"""How many metrics that function reads (adapters/health.py, silence_problem)."""
EVENT_SECONDS = 2.0
"""How long the function takes for a change: the time of template.yaml, with a slow EC2 API."""
ALARM = r"Type: AWS::CloudWatch::Alarm\n"
"""An alarm in a template."""
QUERY = r"Expression: >-\s+SELECT "
"""What an alarm on a Metrics Insights query has in a template. Each one of org/monitoring.yaml reads one metric of each place."""
DAILY_METRICS = 2
"""How many metrics of each place the daily check of an organization reads: of the rule, and of the integrations."""
SWEEP_SECONDS = 60.0 / (PRIVATE_SUBNETS + 1) / 1000
"""How long a sweep takes for each subnet: 60 seconds for 1,000 VPCs (template.yaml)."""


@dataclass(frozen=True, slots=True)
class Month:
    """A month in one account and Region: its subnets, the changes of route tables, and the heals.

    verdict_changes change the verdicts of the subnets of a table, other_changes do not.
    """

    subnets: int
    verdict_changes: int = 0
    other_changes: int = 0
    heals: int = 0

    @property
    def changed(self) -> int:
        """How many verdicts change."""
        return self.verdict_changes * PRIVATE_SUBNETS + self.heals


BUSY = Month(1000, verdict_changes=20, other_changes=80, heals=20)
IDLE = Month(VPCS * (PRIVATE_SUBNETS + 1), other_changes=4)
"""A place in which every subnet is COMPLIANT, and nobody changes that."""


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


def monthly(occasions: Occasions, month: Month) -> dict[str, float]:
    """Return the quantities of a month in one account and Region."""
    sweep = scaled(occasions.sweep if month.verdict_changes else occasions.idle_sweep, month.subnets)
    runs: list[tuple[Counts, int]] = [
        (sweep, SWEEPS),
        (occasions.verdict_change, month.verdict_changes),
        (occasions.other_change, month.other_changes),
    ]
    fields = ("items", "invocations", "evaluations", "metric_requests", "events", "log_bytes")
    sums = {field: float(sum(getattr(counts, field) * times for counts, times in runs)) for field in fields}
    event_runs = sums["invocations"] - SWEEPS
    seconds = event_runs * EVENT_SECONDS + SWEEPS * SWEEP_SECONDS * month.subnets
    checks = SWEEPS * CHECK_SECONDS * CHECK_MEGABYTES / 1024
    return sums | {
        "invocations": sums["invocations"] + SWEEPS,
        "metric_requests": sums["metric_requests"] + SWEEPS * CHECK_METRICS,
        "gigabyte_seconds": seconds * MEGABYTES / 1024 + checks,
    }


def in_template(pattern: str, template: str = "template.yaml") -> int:
    """Return how often a template matches a pattern."""
    return len(re.findall(pattern, (ROOT / template).read_text("utf-8")))


def charges(occasions: Occasions, prices: Prices, month: Month) -> list[Line]:
    """Return the charges of a month in one account and Region."""
    sums = monthly(occasions, month)
    gauges = occasions.gauges if month.verdict_changes else occasions.idle_gauges
    config, function, cloudwatch = prices["config"], prices["lambda"], prices["cloudwatch"]
    return [
        Line("AWS Config: evaluations", sums["evaluations"], config["evaluation"]),
        Line("AWS Config: items of changed verdicts (ResourceCompliance)", month.changed, config["configuration_item"]),
        Line("Lambda: requests", sums["invocations"], function["request"]),
        Line("Lambda: GB-seconds", sums["gigabyte_seconds"], function["gigabyte_second"]),
        Line("CloudWatch: metrics", len(gauges), cloudwatch["metric"]),
        Line("CloudWatch: metrics read", sums["metric_requests"], cloudwatch["metric_request"]),
        Line("CloudWatch: alarms", in_template(ALARM), cloudwatch["alarm"]),
        Line("CloudWatch: alarms of the integrations", in_template(ALARM, INTEGRATIONS), cloudwatch["alarm"]),
        Line("CloudWatch: GB of logs", sums["log_bytes"] / 1e9, cloudwatch["log_gigabyte"]),
        Line("EventBridge: events", sums["events"], prices["eventbridge"]["event"]),
        Line("Automation: steps of heals", month.heals * HEAL_STEPS, prices["automation"]["step"]),
        Line("DynamoDB: requests of heals", month.heals * HEAL_REQUESTS, prices["dynamodb"]["request"]),
        Line("Security Hub: findings", month.changed, prices["security_hub"]["finding"]),
    ]


def total(occasions: Occasions, prices: Prices, month: Month) -> float:
    """Return the dollars of a month in one account and Region."""
    return sum(line.dollars for line in charges(occasions, prices, month))


def cost_table(occasions: Occasions, prices: Prices) -> Iterator[str]:
    """Yield the lines of the table of charges: an idle place, and a busy one."""
    yield "| charge | price | idle, quantity | idle | busy, quantity | busy |"
    yield "|---|---:|---:|---:|---:|---:|"
    for idle, busy in zip(charges(occasions, prices, IDLE), charges(occasions, prices, BUSY), strict=True):
        columns = [
            _price(idle.price),
            *(text for line in (idle, busy) for text in (_number(line.quantity), _dollars(line.dollars))),
        ]
        yield f"| {idle.what} | {' | '.join(columns)} |"
    idle_total, busy_total = (_dollars(total(occasions, prices, month)) for month in (IDLE, BUSY))
    yield f"| **Total** | | | **{idle_total}** | | **{busy_total}** |"


def monitoring(prices: Prices, places: int) -> float:
    """Return the dollars of a month of the monitoring account: its dashboard, its alarms, and what the daily check reads."""
    cloudwatch = prices["cloudwatch"]
    queries = in_template(QUERY, MONITORING)
    alarms = in_template(ALARM, MONITORING) - queries
    return (
        cloudwatch["dashboard"]
        + alarms * cloudwatch["alarm"]
        + queries * places * cloudwatch["query_alarm_metric"]
        + SWEEPS * DAILY_METRICS * places * cloudwatch["metric_request"]
    )


def organization_table(occasions: Occasions, prices: Prices) -> Iterator[str]:
    """Yield the lines of the table of whole organizations, with the monitoring account."""
    idle, busy = (total(occasions, prices, month) for month in (IDLE, BUSY))
    mixed = (idle * (BUSY_SHARE - 1) + busy) / BUSY_SHARE
    yield f"| accounts | stacks, in {REGIONS} Regions | all idle | one of {BUSY_SHARE} is busy | all busy |"
    yield "|---:|---:|---:|---:|---:|"
    for accounts in ACCOUNTS:
        places = accounts * REGIONS
        columns = (_dollars(each * places + monitoring(prices, places)) for each in (idle, mixed, busy))
        yield f"| {accounts} | {places:,} | {' | '.join(columns)} |"


def comparison(occasions: Occasions, prices: Prices) -> Iterator[str]:
    """Yield the lines of the table that compares the rule with other ways to find the same subnets."""
    evaluation, analysis = prices["config"]["evaluation"], prices["reachability_analyzer"]["analysis"]
    subnets = BUSY.subnets
    vpcs = math.ceil(subnets / (PRIVATE_SUBNETS + 1))
    rows = [
        ("express-path", "every subnet, by its routes, after each change and daily", total(occasions, prices, BUSY)),
        ("service-vpc-endpoint-enabled (AWS), daily", "every VPC: an endpoint exists", vpcs * SWEEPS * evaluation),
        ("Reachability Analyzer, daily", "one path for each subnet, daily", subnets * SWEEPS * analysis),
    ]
    yield f"| way | what it checks | {subnets:,} subnets |"
    yield "|---|---|---:|"
    yield from (f"| {way} | {what} | {_dollars(dollars)} |" for way, what, dollars in rows)


def tables(occasions: Occasions, prices: Prices) -> dict[str, str]:
    """Return the tables of docs/deploy.md by name."""
    made = {
        "charges": cost_table(occasions, prices),
        "organizations": organization_table(occasions, prices),
        "comparison": comparison(occasions, prices),
    }
    return {name: "\n".join(lines) for name, lines in made.items()}


def written(text: str, occasions: Occasions, prices: Prices) -> str:
    """Return the document with current tables."""
    for name, table in tables(occasions, prices).items():
        text = with_table(text, name, table)
    return text


def _number(quantity: float) -> str:
    return f"{quantity:,.0f}" if quantity == round(quantity) else f"{quantity:,.5f}".rstrip("0")


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
