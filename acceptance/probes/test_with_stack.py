"""What only the acceptance run shows, and needs the product's stack. Facts have the names of their probes."""

from functools import partial

from acceptance.run import Run, attempt, error_code
from acceptance.stack import Product


def test_scope(run: Run, product: Product) -> None:
    """Which types AWS Config has in the scope of the product's rule."""
    query = "ConfigRules[].Scope.ComplianceResourceTypes[]"
    types = run.ask("config", "describe_config_rules", query, ConfigRuleNames=[product.ids["ConfigRule"]])
    run.add("resource-types-in-scope", "config", "Number of types", len(types), 8, sorted(types))


def test_ledger_policy(run: Run, product: Product) -> None:
    """Whether the ledger's policy keeps whoever runs this from writing an item."""
    what, table = {"id": {"S": "acceptance"}}, product.ids["LedgerTableName"]
    code = error_code(partial(run.client("dynamodb").put_item, TableName=table, Item=what))
    error_code(partial(run.client("dynamodb").delete_item, TableName=table, Key=what))
    run.add("ledger-policy", "dynamodb", "Error of PutItem", code, "AccessDeniedException", only_at_aws=True)


def test_security_hub(run: Run, product: Product) -> None:
    """Whether the new Security Hub, if it is enabled, has findings with the rule's name as the title."""
    match = {"FieldName": "finding_info.title", "Filter": {"Value": product.ids["ConfigRule"], "Comparison": "EQUALS"}}
    filters = {"CompositeFilters": [{"StringFilters": [match]}]}
    code, found = attempt(lambda: run.client("securityhub").get_findings_v2(Filters=filters)["Findings"])
    answer = len(found) if found else code
    run.add("findings-in-the-new-security-hub", "securityhub", "Number or error", answer, only_at_aws=True)
