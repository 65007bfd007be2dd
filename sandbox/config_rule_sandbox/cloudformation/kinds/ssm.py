"""Resource types of Systems Manager."""

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, Properties, deleting
from config_rule_sandbox.cloudformation.values import Created


def create_document(account: Account, name: str, properties: Properties) -> Created:
    """Create a document of Systems Manager. ClientError (DocumentAlreadyExists) if its name is taken."""
    name = properties.pop("Name", name)
    properties.pop("UpdateMethod", None)  # how CloudFormation itself updates the document
    account.call("ssm", "create_document", Name=name, **{"DocumentFormat": "JSON", **properties})
    return Created(name)


KINDS = {
    "AWS::SSM::Document": Kind(create_document, deleting("ssm", "delete_document", "Name")),
}
