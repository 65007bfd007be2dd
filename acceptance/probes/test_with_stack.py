"""What only the acceptance run shows, and needs the product's stack. Facts have the names of their probes."""

from functools import partial

from acceptance.facts import Facts
from acceptance.place import Json, Place, error_code
from acceptance.stack import Product


def test_scope(place: Place, product: Product, facts: Facts) -> None:
    """Which types AWS Config has in the scope of the product's rule."""
    [rule] = place.client("config").describe_config_rules(ConfigRuleNames=[product.rule])["ConfigRules"]
    types = sorted(rule["Scope"]["ComplianceResourceTypes"])
    facts.add("resource-types-in-scope", "config", "The scope of the deployed rule", types, len(types) == 8)


def test_ledger_policy(place: Place, product: Product, facts: Facts) -> None:
    """Whether the ledger's policy keeps whoever runs this from writing an item."""
    what, table = {"id": {"S": "acceptance"}}, product.outputs["LedgerTableName"]
    code = error_code(partial(place.client("dynamodb").put_item, TableName=table, Item=what))
    error_code(partial(place.client("dynamodb").delete_item, TableName=table, Key=what))
    facts.add_at_aws("ledger-policy", "dynamodb", "Error of PutItem", code, code == "AccessDeniedException")


def test_security_hub(place: Place, product: Product, facts: Facts) -> None:
    """Whether the new Security Hub, if it is enabled, has findings with the rule's name as the title."""
    match = {"FieldName": "finding_info.title", "Filter": {"Value": product.rule, "Comparison": "EQUALS"}}
    filters, found = {"CompositeFilters": [{"StringFilters": [match]}]}, []
    hub = place.client("securityhub")
    code = error_code(lambda: found.extend(hub.get_findings_v2(Filters=filters)["Findings"]))
    answer: Json = [code, len(found)]
    facts.add_at_aws("findings-in-the-new-security-hub", "securityhub", "Error, number", answer, bool(found) or None)
