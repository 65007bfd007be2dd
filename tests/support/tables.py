"""The DynamoDB tables of the template, made in a sandbox as CloudFormation would make them."""

from sandbox.config_items.direct import direct_client
from sandbox.dynamodb.deployment import deploy_table
from sandbox.server import Sandbox
from tests.support.template import Expanded


def deploy_tables(sandbox: Sandbox, template: Expanded) -> list[str]:
    """Make every table of an expanded template, with its resource policy, and return their ARNs."""
    dynamodb = direct_client(sandbox, "dynamodb")
    tables = {name: each for name, each in template.resources.items() if each["Type"] == "AWS::DynamoDB::Table"}
    return [
        deploy_table(dynamodb, template.deployed(each["Properties"]), str(template.deployed(f"<{name}>")))
        for name, each in tables.items()
    ]
