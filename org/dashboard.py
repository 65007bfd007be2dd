"""Write org/monitoring.yaml's dashboard: python -m org.dashboard [REGION ...].

Name the Regions in which the rule is deployed. The structure of a dashboard:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
"""

import argparse
import json
from collections.abc import Callable, Sequence
from itertools import dropwhile
from math import ceil
from pathlib import Path
from textwrap import indent
from typing import Any

Widget = dict[str, Any]
Row = list[dict[str, Any]]

TEMPLATE = Path(__file__).with_name("monitoring.yaml")
BODY = "      DashboardBody: |\n"
"""The line after which the template has the dashboard. What follows that is not indented as far is kept."""
INDENT = " " * 8
EVALUATE, HEALTH, FINDINGS = "express-path-evaluate", "express-path-health", "express-path-findings"
"""The names of the functions of stacks with the default RuleName (template.yaml, integrations/template.yaml)."""
LOG_GROUPS = "StackSet-express-path"
"""How the log groups of the rule's stacks start, because the names of their StackSets start with express-path."""
REGIONS = ("us-east-1", "us-west-2", "eu-west-1")
"""The Regions of the dashboard in the repository."""
DAY, HOUR = 86400, 3600
TEXT_HEIGHT, CHART_HEIGHT, TABLE_HEIGHT = 4, 6, 5
INTRODUCTION = """\
## S3 Express traffic that crosses a NAT

**NON_COMPLIANT is not 0?** `express-path org status` lists the route tables to fix, and the NATs that they use.

**Something does not work, or an account is missing?** Run `express-path doctor` in that account.

**A heal is blocked?** Run `express-path heals` in that account, and `express-path explain SUBNET` for the fix.

Each sweep reports the gauges that are not 0, at least every 24 hours. A day shows the highest value of each account, and
the last value if the account reported none. Today has 0 checks until the account has swept. *Unresolved* includes DROPPED.
"""


def total(gauge: str) -> Callable[[str], Row]:
    """Return rows that add up a gauge over all accounts of a Region, by day. Without a value, the last one counts."""
    search = f"SEARCH('{{ExpressPath,RuleName}} MetricName=\"{gauge}\"', 'Maximum', {DAY})"
    return lambda region: [{"expression": f"SUM(FILL({search}, REPEAT))", "label": region, "region": region}]


def highest(select: str, namespace: str, dimension: str) -> Callable[[str], Row]:
    """Return rows with the ten accounts, or resources of another namespace, of a Region in which a metric is highest.

    Such a query processes up to 10,000 metrics, and only its results count for the quotas of a dashboard:
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch-metrics-insights-limits.html
    """
    is_ours = namespace == "ExpressPath"
    source = f'SCHEMA("{namespace}", {dimension})' if is_ours else f'"{namespace}"'  # also with further dimensions
    groups = "AWS.AccountId" if is_ours else f"AWS.AccountId, {dimension}"
    ranking = f"ORDER BY {select.partition('(')[0]}() DESC LIMIT 10"
    query = f"SELECT {select} FROM {source} GROUP BY {groups} {ranking}"  # noqa: S608  # not SQL, and only constants
    return lambda region: [{"expression": query, "label": f"${{LABEL}} {region}", "region": region}]


def fewest_sweeps(region: str) -> Row:
    """Return rows with the number of checks a day, 0 without one, of the ten accounts of a Region with the fewest.

    The end of each sweep invokes the health function, again if it fails.
    """
    search = f"SEARCH('{{AWS/Lambda,FunctionName}} MetricName=\"Invocations\" FunctionName=\"{HEALTH}\"', 'Sum', {DAY})"
    label = f"${{PROP('AccountLabel')}} {region}"
    return [{"expression": f"SORT(FILL({search}, 0), MIN, ASC, 10)", "label": label, "region": region}]


def of_function(name: str, metric: str, statistic: str) -> Callable[[str], Row]:
    """Return rows with the ten accounts of a Region in which a metric of the function with exactly this name is highest."""
    search = (
        f"SEARCH('{{AWS/Lambda,FunctionName}} MetricName=\"{metric}\" FunctionName=\"{name}\"', '{statistic}', {HOUR})"
    )
    return lambda region: [
        {
            "expression": f"SORT({search}, MAX, DESC, 10)",
            "label": f"${{PROP('AccountLabel')}} {region}",
            "region": region,
        }
    ]


def most_errors(name: str) -> Callable[[str], Row]:
    """Return rows with the ten accounts of a Region in which the function with exactly this name failed most often.

    Only the results count for the quotas of a dashboard, unlike those of a search.
    """
    where = f"FROM SCHEMA(\"AWS/Lambda\", FunctionName) WHERE FunctionName = '{name}'"
    query = f"SELECT SUM(Errors) {where} GROUP BY AWS.AccountId ORDER BY SUM() DESC LIMIT 10"
    return lambda region: [{"expression": query, "label": f"${{LABEL}} {region}", "region": region}]


def metric_widget(
    title: str,
    rows: Callable[[str], Row],
    regions: Sequence[str],
    **properties: Any,  # noqa: ANN401  # any JSON
) -> Widget:
    """Return a widget with the same rows for each Region."""
    default = {"view": "timeSeries", "stacked": False, "period": DAY, "yAxis": {"left": {"min": 0}}}
    metrics = [rows(region) for region in regions]
    return {
        "type": "metric",
        "properties": {"title": title, "region": regions[0], "metrics": metrics, **default, **properties},
    }


def log_widget(title: str, region: str, *commands: str) -> Widget:
    """Return a widget with a query over the log groups of all accounts in a Region.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-Source.html
    """
    query = " | ".join([f"SOURCE logGroups(namePrefix: ['{LOG_GROUPS}'])", *commands])
    return {
        "type": "log",
        "properties": {"title": f"{title}, {region}", "region": region, "query": query, "view": "table"},
    }


def gauges(regions: Sequence[str]) -> list[Widget]:
    """Return the widgets of the rule's own metrics, and of the checks after sweeps."""
    stacked = {"stacked": True}
    return [
        metric_widget("NON_COMPLIANT subnets", total("NonCompliant"), regions, **stacked),
        metric_widget("Unresolved or dropped paths", total("Unresolved"), regions, **stacked),
        metric_widget(
            "Accounts with the most NON_COMPLIANT subnets",
            highest("MAX(NonCompliant)", "ExpressPath", "RuleName"),
            regions,
        ),
        metric_widget(
            "Failed checks: something does not work",
            of_function(HEALTH, "Errors", "Minimum"),
            regions,
        ),
        metric_widget("Checks after sweeps per day, accounts with the fewest", fewest_sweeps, regions),
        metric_widget(
            "Failed heals, by account", highest("SUM(HealsFailed)", "ExpressPath", "RuleName"), regions, **stacked
        ),
    ]


def operation(regions: Sequence[str]) -> list[Widget]:
    """Return the widgets of metrics that AWS emits."""
    hourly = {"period": HOUR}
    nat = ("AWS/NATGateway", "NatGatewayId")
    return [
        metric_widget(
            "Failed evaluations",
            of_function(EVALUATE, "Errors", "Sum"),
            regions,
            **hourly,
        ),
        metric_widget(
            "Events that failed all retries",
            of_function(EVALUATE, "AsyncEventsDropped", "Sum"),
            regions,
            **hourly,
        ),
        metric_widget("Failed updates of findings", most_errors(FINDINGS), regions, **hourly),
        metric_widget("NAT gateways: bytes sent", highest("SUM(BytesOutToDestination)", *nat), regions, **hourly),
        metric_widget("NAT gateways: bytes received", highest("SUM(BytesInFromDestination)", *nat), regions, **hourly),
    ]


def logs(region: str) -> list[Widget]:
    """Return the widgets of one Region's logs: dashboards cannot read the ledger, and metrics have no reasons."""
    reasons = ("NAT_GATEWAY", "NAT_BEYOND_TRANSIT_GATEWAY", "PARTLY_NAT", "UNRESOLVED_EGRESS", "DROPPED", "EXCLUDED")
    compliances = ("NON_COMPLIANT", "COMPLIANT", "NOT_APPLICABLE")
    fields = [*(f"counts.{name}" for name in compliances), *(f"reasons.{name}" for name in reasons)]
    latest = ", ".join(f"latest({field}) as latest{number}" for number, field in enumerate(fields))
    sums = ", ".join(f"sum(latest{number}) as {field.partition('.')[2]}" for number, field in enumerate(fields))
    return [
        log_widget(
            "Heals by outcome",
            region,
            'filter message = "planned" or (message = "answered" and action = "verify")',
            'fields coalesce(status, "HEALED") as result',
            "stats latest(result) as outcome by correlation_id",
            "stats count(*) as runs by outcome",
        ),
        log_widget(
            "What blocks heals",
            region,
            'filter message = "planned" and status = "BLOCKED"',
            "fields jsonParse(@message) as line",
            "unnest line.blockers into blocker",
            "stats count_distinct(correlation_id) as runs by blocker",
            "sort runs desc",
        ),
        log_widget(
            "Subnets by compliance and reason",
            region,
            'filter message = "swept"',
            f"stats {latest} by @log",
            f"stats {sums}",
        ),
    ]


def in_lines(widgets: Sequence[Widget], top: int, height: int) -> list[Widget]:
    """Return widgets with their places: three in each line, from this line on."""
    return [
        {**widget, "x": number % 3 * 8, "y": top + number // 3 * height, "width": 8, "height": height}
        for number, widget in enumerate(widgets)
    ]


def dashboard(regions: Sequence[str]) -> dict[str, Any]:
    """Return the dashboard: a text, then three widgets in each line."""
    text = {
        "type": "text",
        "properties": {"markdown": INTRODUCTION},
        "x": 0,
        "y": 0,
        "width": 24,
        "height": TEXT_HEIGHT,
    }
    queries = [widget for region in regions for widget in logs(region)]
    charts = [*gauges(regions), *operation(regions)]
    below = TEXT_HEIGHT + ceil(len(charts) / 3) * CHART_HEIGHT
    placed = [*in_lines(charts, TEXT_HEIGHT, CHART_HEIGHT), *in_lines(queries, below, TABLE_HEIGHT)]
    return {"start": "-P14D", "periodOverride": "inherit", "widgets": [text, *placed]}


def template(earlier: str, regions: Sequence[str]) -> str:
    """Return the text of a template with the dashboard for these Regions in place of the one that it has."""
    head, _, following = earlier.partition(BODY)
    rest = dropwhile(lambda line: line.startswith(INDENT), following.splitlines(keepends=True))
    return head + BODY + indent(json.dumps(dashboard(regions), indent=1), INDENT) + "\n" + "".join(rest)


def main() -> None:
    """Write the template again."""
    parser = argparse.ArgumentParser(
        prog="python -m org.dashboard", description="Write org/monitoring.yaml's dashboard."
    )
    parser.add_argument("regions", metavar="REGION", nargs="*", default=REGIONS, help="the Regions to show")
    options = parser.parse_args()
    TEMPLATE.write_text(template(TEMPLATE.read_text(encoding="utf-8"), options.regions), encoding="utf-8")


if __name__ == "__main__":
    main()
