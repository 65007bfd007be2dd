"""The monitoring templates: the dashboard is valid, within the quotas, and shows what the accounts share."""

import json
import re
from collections import Counter
from itertools import combinations
from typing import Any

import pytest

from config_rule_sandbox.cloudformation.text import read
from express_path.domain.path.reasons import Reason
from org.dashboard import LOG_GROUPS, REGIONS, TEMPLATE, dashboard, template
from tests.support.template import ROOT

MONITORING = read(TEMPLATE.read_text(encoding="utf-8"))
LINK = read((ROOT / "org" / "monitoring-link.yaml").read_text(encoding="utf-8"))
BODY = json.loads(MONITORING["Resources"]["Dashboard"]["Properties"]["DashboardBody"])
WIDGETS: list[dict[str, Any]] = BODY["widgets"]
METRIC_WIDGETS = [widget["properties"] for widget in WIDGETS if widget["type"] == "metric"]
EXPRESSIONS = [row["expression"] for widget in METRIC_WIDGETS for [row] in widget["metrics"]]
# What AWS emits: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html,
# https://docs.aws.amazon.com/vpc/latest/userguide/metrics-dimensions-nat-gateway.html
OF_AWS = {
    ("AWS/Lambda", "FunctionName", "Errors"),
    ("AWS/Lambda", "FunctionName", "Invocations"),
    ("AWS/Lambda", "FunctionName", "AsyncEventsDropped"),
    ("AWS/NATGateway", "NatGatewayId", "BytesOutToDestination"),
    ("AWS/NATGateway", "NatGatewayId", "BytesInFromDestination"),
}
SEARCH = re.compile(
    r"SEARCH\('\{(?P<namespace>[\w/]+),(?P<dimension>\w+)\} MetricName=\"(?P<metric>\w+)\"( FunctionName=\"(?P<function>[\w-]+)\")?', '\w+', \d+\)"
)
QUERY = re.compile(
    r"SELECT (?P<function>AVG|COUNT|MAX|MIN|SUM)\((?P<metric>\w+)\) "
    r'FROM (?:SCHEMA\()?"(?P<namespace>[\w/]+)"(?:, (?P<named>RuleName|FunctionName)\))? '
    r"(?:WHERE FunctionName = '[\w-]+' )?"
    r"GROUP BY AWS\.AccountId(?:, (?P<dimension>\w+))? "
    r"ORDER BY (?P=function)\(\) (?P<order>ASC|DESC) LIMIT (?P<limit>\d+)"
)


def metric_of(expression: str) -> tuple[str, str, str]:
    """Return the namespace, dimension, and name of the one metric of an expression."""
    [match] = [*SEARCH.finditer(expression), *QUERY.finditer(expression)]
    return match["namespace"], match["dimension"] or match["named"], match["metric"]


def metrics_read(expression: str, accounts: int) -> int:
    """Return how many metrics an expression counts for the quotas, if each account has one."""
    query = QUERY.fullmatch(expression)
    return min(int(query["limit"]), accounts) if query else accounts


def test_template_is_written_by_the_module() -> None:
    """Run `python -m org.dashboard` after a change of org/dashboard.py."""
    text = TEMPLATE.read_text(encoding="utf-8")
    assert text == template(text, REGIONS)
    assert dashboard(REGIONS) == BODY


def test_the_dashboard_of_other_regions_changes_nothing_else() -> None:
    """The resources before and after the dashboard stay, however often it is written."""
    text = TEMPLATE.read_text(encoding="utf-8")
    other = template(template(text, ["eu-west-3"]), ["eu-west-3", "eu-west-1"])
    assert list(read(other)["Resources"]) == list(MONITORING["Resources"])
    assert (other != text, template(other, REGIONS)) == (True, text)


def test_widgets_lie_side_by_side() -> None:
    """The widgets are inside the 24 columns, and none covers another."""
    taken = Counter(
        (x, y)
        for widget in WIDGETS
        for x in range(widget["x"], widget["x"] + widget["width"])
        for y in range(widget["y"], widget["y"] + widget["height"])
    )
    assert max(x for x, _ in taken) == 23
    assert set(taken.values()) == {1}


@pytest.mark.parametrize("expression", sorted(set(EXPRESSIONS)))
def test_each_expression_reads_one_metric(expression: str) -> None:
    """Each expression is a search or a Metrics Insights query for a metric of AWS or of the rule."""
    assert len(expression) <= 1024
    namespace, dimension, metric = metric_of(expression)
    is_ours = (namespace, dimension) == ("ExpressPath", "RuleName")
    assert is_ours or (namespace, dimension, metric) in OF_AWS


def test_every_metric_is_shown() -> None:
    """The dashboard shows every gauge that a sweep prints, and every metric of the list above."""
    ours = {("ExpressPath", "RuleName", gauge) for gauge in ("NonCompliant", "Unresolved", "HealsFailed")}
    assert set(map(metric_of, EXPRESSIONS)) == OF_AWS | ours


def test_log_widgets_read_reasons_that_exist() -> None:
    """Each reason that a query counts is one of the rule's."""
    queries = [widget["properties"]["query"] for widget in WIDGETS if widget["type"] == "log"]
    assert len(queries) == 3 * len(REGIONS)
    counted = set(re.findall(r"reasons\.(\w+)", " ".join(queries)))
    assert Reason.NAT_GATEWAY in counted <= set(Reason)


@pytest.mark.parametrize(("accounts", "fits"), [(50, True), (130, True), (140, False)])
def test_quotas_allow_as_many_accounts_as_documented(accounts: int, fits: bool) -> None:
    """With three Regions, 130 accounts fit: 500 metrics for each widget and 2,500 for the dashboard.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_limits.html
    """
    widgets = [
        sum(metrics_read(row["expression"], accounts) for [row] in widget["metrics"]) for widget in METRIC_WIDGETS
    ]
    assert (max(widgets) <= 500 and sum(widgets) <= 2500) is fits
    assert "130 accounts" in (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")


def test_link_shares_exactly_what_the_dashboard_shows() -> None:
    """The namespaces and log groups of the link are those of the dashboard, and the sink accepts these two kinds."""
    configuration = LINK["Resources"]["Link"]["Properties"]["LinkConfiguration"]
    shared = set(re.findall(r"'([\w/]+)'", configuration["MetricConfiguration"]["Filter"]))
    assert shared == {metric_of(expression)[0] for expression in EXPRESSIONS}
    assert configuration["LogGroupConfiguration"]["Filter"] == f"LogGroupName LIKE '{LOG_GROUPS}%'"
    [statement] = MONITORING["Resources"]["Sink"]["Properties"]["Policy"]["Statement"]
    accepted = statement["Condition"]["ForAllValues:StringEquals"]["oam:ResourceTypes"]
    assert LINK["Resources"]["Link"]["Properties"]["ResourceTypes"] == accepted
    assert statement["Condition"]["StringEquals"] == {"aws:PrincipalOrgID": {"Ref": "OrganizationId"}}


def test_other_regions_have_their_own_widgets() -> None:
    """A dashboard for other Regions has the same widgets for them, and three log widgets for each."""
    other = dashboard(["eu-west-3"])
    assert {widget["properties"].get("region", "eu-west-3") for widget in other["widgets"]} == {"eu-west-3"}
    assert sum(widget["type"] == "log" for widget in other["widgets"]) == 3
    assert "us-east-1" not in json.dumps(other)
    assert not any(one == two for one, two in combinations(other["widgets"], 2))
