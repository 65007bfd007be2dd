"""The template's DynamoDB tables, created in a sandbox as CloudFormation creates them."""

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.dynamodb import create_table
from config_rule_sandbox.server import Sandbox
from tests.support.template import Expanded


def deploy_tables(sandbox: Sandbox, template: Expanded) -> None:
    """Create every table of an expanded template with its resource policy."""
    account = Account(sandbox, sandbox.account_id, sandbox.region)
    for name, resource in template.resources.items():
        if resource["Type"] == "AWS::DynamoDB::Table":
            create_table(account, str(template.deployed(f"<{name}>")), template.deployed(resource["Properties"]))
