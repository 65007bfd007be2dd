"""The template's DynamoDB tables, created in a sandbox as CloudFormation creates them."""

from sandbox.config_items.direct import direct_client
from sandbox.dynamodb import deploy_table
from sandbox.server import Sandbox
from tests.support.template import Expanded


def deploy_tables(sandbox: Sandbox, template: Expanded) -> list[str]:
    """Create every table of an expanded template with its resource policy and return their ARNs."""
    dynamodb = direct_client(sandbox, "dynamodb")
    tables = {
        name: resource for name, resource in template.resources.items() if resource["Type"] == "AWS::DynamoDB::Table"
    }
    return [
        deploy_table(dynamodb, template.deployed(table["Properties"]), str(template.deployed(f"<{name}>")))
        for name, table in tables.items()
    ]
