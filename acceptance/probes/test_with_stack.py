"""What only the acceptance run shows, and needs the product's stack. Facts have the names of their probes."""

from functools import partial

from acceptance.facts import Json
from acceptance.probes.probe import probe
from acceptance.run import Run, attempt, error_code
from acceptance.stack import ids_of


@probe("config", "resource-types-in-scope")
def test_scope(run: Run) -> None:
    """Which types AWS Config has in the scope of the product's rule."""
    rule = ids_of(run, run.stack_name)["ConfigRule"]
    query = "ConfigRules[].Scope.ComplianceResourceTypes[]"
    types = run.ask("config", "describe_config_rules", query, ConfigRuleNames=[rule])
    run.add("resource-types-in-scope", "config", "Number of types", len(types), 8, sorted(types))


@probe("dynamodb", "ledger-policy")
def test_ledger_policy(run: Run) -> None:
    """Whether the ledger's policy keeps whoever runs this from writing an item."""
    what, table = {"id": {"S": "acceptance"}}, ids_of(run, run.stack_name)["LedgerTableName"]
    code = error_code(partial(run.client("dynamodb").put_item, TableName=table, Item=what))
    error_code(partial(run.client("dynamodb").delete_item, TableName=table, Key=what))
    run.add("ledger-policy", "dynamodb", "Error of PutItem", code, "AccessDeniedException")


@probe("securityhub", "findings-in-the-new-security-hub")
def test_security_hub(run: Run) -> None:
    """Whether the new Security Hub, if it is enabled, has findings with the rule's name as the title."""
    rule = ids_of(run, run.stack_name)["ConfigRule"]
    match = {"FieldName": "finding_info.title", "Filter": {"Value": rule, "Comparison": "EQUALS"}}
    filters = {"CompositeFilters": [{"StringFilters": [match]}]}

    def look() -> Json:
        code, found = attempt(lambda: run.client("securityhub").get_findings_v2(Filters=filters)["Findings"])
        return len(found or []) if code == "none" else code

    answer = run.look_for(look)
    run.add("findings-in-the-new-security-hub", "securityhub", "Number or error", answer, only_at_aws=True)
