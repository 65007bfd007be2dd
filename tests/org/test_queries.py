"""The saved queries return what their names say, in a model of AWS Config's advanced queries."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.cloudformation.values import read
from tests.support.template import ROOT

RULE = "s3express-no-nat-path"
TEMPLATE = read((ROOT / "org" / "stored-queries.yaml").read_text(encoding="utf-8"))
QUERIES: dict[str, str] = {}
for resource in TEMPLATE["Resources"].values():
    expression = resource["Properties"]["QueryExpression"]
    text = expression["Fn::Sub"] if isinstance(expression, dict) else expression
    QUERIES[resource["Properties"]["QueryName"]] = text.replace("${RuleName}", RULE)
TEMPTING = (
    QUERIES["express-path-evaluated-subnets"] + " AND configuration.configRuleList.complianceType = 'NON_COMPLIANT'"
)


def compliance(subnet_id: str, **rules: str) -> dict[str, Any]:
    """Return the compliance item of a subnet; ours is the result of the rule, and other that of another rule."""
    names = {"ours": RULE, "other": "subnet-auto-assign-public-ip-disabled"}
    listed = [{"configRuleName": names[rule], "complianceType": result} for rule, result in rules.items()]
    worst = "NON_COMPLIANT" if "NON_COMPLIANT" in rules.values() else "COMPLIANT"
    configuration = {
        "targetResourceId": subnet_id,
        "targetResourceType": "AWS::EC2::Subnet",
        "complianceType": worst,
        "configRuleList": listed,
    }
    return item("AWS::Config::ResourceCompliance", configuration)


def item(resource_type: str, configuration: dict[str, Any], resource_id: str = "") -> dict[str, Any]:
    """Return an item of one account and Region."""
    place = {"accountId": "123456789012", "awsRegion": "us-east-1"}
    return {**place, "resourceType": resource_type, "resourceId": resource_id, "configuration": configuration}


ITEMS = [
    compliance("subnet-flagged", ours="NON_COMPLIANT", other="COMPLIANT"),
    compliance("subnet-passing", ours="COMPLIANT", other="COMPLIANT"),
    compliance("subnet-flagged-by-other", ours="COMPLIANT", other="NON_COMPLIANT"),
    compliance("subnet-of-other", other="NON_COMPLIANT"),
    item(
        "AWS::EC2::RouteTable",
        {"vpcId": "vpc-1", "routes": [{"gatewayId": "local"}, {"natGatewayId": "nat-1"}]},
        "rtb-nat",
    ),
    item("AWS::EC2::RouteTable", {"vpcId": "vpc-1", "routes": [{"gatewayId": "igw-1"}]}, "rtb-public"),
]


def values(node: Any, path: list[str]) -> Iterator[Any]:
    """Yield all values at a path; a path goes through every element of an array."""
    if isinstance(node, list):
        for element in node:
            yield from values(element, path)
    elif not path:
        yield node
    elif isinstance(node, dict) and path[0] in node:
        yield from values(node[path[0]], path[1:])


def holds(condition: str, row: dict[str, Any]) -> bool:
    """Return whether any value at the condition's path fits: conditions on an array do not say which element.

    https://docs.aws.amazon.com/config/latest/developerguide/query-using-sql-editor-cli.html
    """
    match = re.fullmatch(r"([\w.]+) (=|LIKE) '([^'%]+)(%?)'", condition)
    assert match, condition
    path, operator, wanted, _ = match.groups()
    found = values(row, path.split("."))
    return any(str(value).startswith(wanted) if operator == "LIKE" else value == wanted for value in found)


def selected(query: str) -> list[dict[str, Any]]:
    """Return the items that a query selects."""
    conditions = re.split(r" AND ", query.partition(" WHERE ")[2].partition(" GROUP BY ")[0])
    return [row for row in ITEMS if all(holds(condition, row) for condition in conditions)]


def subnets(rows: list[dict[str, Any]]) -> set[str]:
    """Return the subnets of compliance items."""
    return {row["configuration"]["targetResourceId"] for row in rows}


def test_queries_return_what_their_names_say() -> None:
    """Each query returns the subnets, or route tables, of its name."""
    flagged = {"subnet-flagged", "subnet-flagged-by-other"}
    assert subnets(selected(QUERIES["express-path-evaluated-subnets"])) == {*flagged, "subnet-passing"}
    assert subnets(selected(QUERIES["express-path-evaluated-subnets-that-violate-any-rule"])) == flagged
    assert len(selected(QUERIES["express-path-number-of-evaluated-subnets"])) == 3
    tables = selected(QUERIES["express-path-route-tables-with-a-nat-gateway-route"])
    assert [row["resourceId"] for row in tables] == ["rtb-nat"]


def test_tempting_condition_returns_wrong_rows() -> None:
    """A condition on the compliance in the list also returns a subnet that only another rule flags; no query has it."""
    assert subnets(selected(TEMPTING)) == {"subnet-flagged", "subnet-flagged-by-other"}
    assert not any("configRuleList.complianceType" in query for query in QUERIES.values())


def test_filter_keeps_what_the_rule_flags() -> None:
    """The jq filter in the documents keeps exactly the subnets that violate this rule."""
    if not shutil.which("jq"):
        pytest.skip("jq is not installed")
    answer = {"Results": [json.dumps(row) for row in selected(QUERIES["express-path-evaluated-subnets"])]}
    command = ["jq", "--from-file", str(ROOT / "org" / "queries" / "noncompliant-subnets.jq")]
    kept = subprocess.run(command, input=json.dumps(answer), capture_output=True, text=True, check=True).stdout
    assert [row["subnetId"] for row in json.loads(kept)] == ["subnet-flagged"]


def test_queries_are_within_the_limits() -> None:
    """A query has at most 4,096 characters, and its name at most 64 of those that AWS Config allows."""
    assert all(len(query) <= 4096 for query in QUERIES.values())
    assert all(re.fullmatch(r"[\w-]{1,64}", name) for name in QUERIES)
    page = (ROOT / "docs" / "organization.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in QUERIES)
