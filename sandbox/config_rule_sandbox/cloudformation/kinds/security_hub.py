"""Resource types of Security Hub."""

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, Properties, deleting
from config_rule_sandbox.cloudformation.values import Created


def create_rule(account: Account, _name: str, properties: Properties) -> Created:
    """Create an automation rule V2."""
    made = account.call("securityhub", "create_automation_rule_v2", **properties)
    return Created(made["RuleId"], {"RuleArn": made["RuleArn"], "RuleId": made["RuleId"]})


KINDS = {
    "AWS::SecurityHub::AutomationRuleV2": Kind(
        create_rule, deleting("securityhub", "delete_automation_rule_v2", "Identifier")
    ),
}
