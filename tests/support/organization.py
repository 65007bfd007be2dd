"""An organization in the sandbox, to which the rule is rolled out as docs/organization.md says."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config_rule_sandbox.cloudformation.stack_sets import deploy
from config_rule_sandbox.cloudformation.stacks import Stack
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import acting_in, direct_client
from config_rule_sandbox.server import Sandbox
from tests.support.template import ROOT

PREFIX = "example-express-path"
TOOLS = "999988887777"
"""The account with the artifact buckets and the topics. It belongs to no organization unless `Organization` adds it."""


@dataclass(frozen=True)
class Packaged:
    """What `make org-package` writes: the keys of the files by parameter, and the folder to upload."""

    keys: dict[str, str]
    upload: Path

    def text(self, parameter: str) -> str:
        """Return the text of the file whose key is a parameter's value."""
        return (self.upload / self.keys[parameter]).read_text(encoding="utf-8")

    @property
    def template(self) -> dict[str, Any]:
        """The rule's template."""
        parsed: dict[str, Any] = json.loads(self.text("TemplateKey"))
        return parsed

    @property
    def integrations(self) -> dict[str, Any]:
        """The integrations' template."""
        parsed: dict[str, Any] = json.loads(self.text("IntegrationsTemplateKey"))
        return parsed


EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}


def administrator(sandbox: Sandbox, account_id: str, name: str = "administrator") -> dict[str, str]:
    """Create a role with all permissions, and return the credentials of a session."""
    iam: Client = direct_client(sandbox, "iam")
    policy = json.dumps({"Version": "2012-10-17", "Statement": EVERYTHING})
    with acting_in(account_id):
        made = iam.create_role(RoleName=name, AssumeRolePolicyDocument=policy)
        iam.put_role_policy(RoleName=name, PolicyName="all", PolicyDocument=policy)
    return sandbox.assume(made["Role"]["Arn"])


class Organization:
    """Accounts of a new organization, with nothing deployed and nothing recorded."""

    def __init__(self, sandbox: Sandbox, packaged: Packaged, *names: str) -> None:
        """Create an account for each name; `accounts` has their IDs."""
        self.sandbox = sandbox
        self.packaged = packaged
        organizations: Client = direct_client(sandbox, "organizations")
        self.id = str(organizations.create_organization(FeatureSet="ALL")["Organization"]["Id"])
        self.accounts: dict[str, str] = {}
        for name in names:
            made = organizations.create_account(AccountName=name, Email=f"{name}@example.com")
            self.accounts[name] = made["CreateAccountStatus"]["AccountId"]

    def unit(self, *names: str) -> str:
        """Create an organizational unit, move accounts of the root to it, and return its ID."""
        organizations: Client = direct_client(self.sandbox, "organizations")
        root_id = organizations.list_roots()["Roots"][0]["Id"]
        made = organizations.create_organizational_unit(
            ParentId=root_id, Name=f"unit-of-{len(self.accounts)}-{len(names)}"
        )
        unit_id = str(made["OrganizationalUnit"]["Id"])
        for name in names:
            moved = {"AccountId": self.accounts[name], "SourceParentId": root_id, "DestinationParentId": unit_id}
            organizations.move_account(**moved)
        return unit_id

    def provide_code(self, *regions: str) -> None:
        """Deploy org/artifact-bucket.yaml in Regions, and upload the package."""
        template = (ROOT / "org" / "artifact-bucket.yaml").read_text(encoding="utf-8")
        parameters = {"ArtifactBucketPrefix": PREFIX, "OrganizationId": self.id}
        for region in regions:
            stack = deploy(self.sandbox, template, parameters, TOOLS, region, "artifact-bucket")
            assert not stack.failure
            s3: Client = direct_client(self.sandbox, "s3", region)
            with acting_in(TOOLS):
                for path in self.packaged.upload.iterdir():
                    s3.put_object(Bucket=stack.outputs["BucketName"], Key=path.name, Body=path.read_bytes())

    def record(self, name: str, region: str) -> None:
        """Create and start a configuration recorder in an account and Region."""
        account_id = self.accounts[name]
        config: Client = direct_client(self.sandbox, "config", region)
        with acting_in(account_id):
            role = f"arn:aws:iam::{account_id}:role/aws-service-role/config.amazonaws.com/AWSServiceRoleForConfig"
            config.put_configuration_recorder(ConfigurationRecorder={"name": "default", "roleARN": role})
            config.put_delivery_channel(DeliveryChannel={"name": "default", "s3BucketName": "config"})
            config.start_configuration_recorder(ConfigurationRecorderName="default")

    def deploy_ledger(self, name: str, region: str) -> Stack:
        """Deploy the ledger as its StackSet does."""
        parameters = {"LedgerTableName": "express-path-ledger"}
        template = self.packaged.text("LedgerTemplateKey")
        return deploy(self.sandbox, template, parameters, self.accounts[name], region, "StackSet-express-path-ledger")

    def deploy_rule(
        self, name: str, region: str, stack_name: str = "StackSet-express-path", **parameters: str
    ) -> Stack:
        """Deploy the rule as the StackSet of an OU does, with its defaults."""
        given = {
            "ArtifactBucketPrefix": PREFIX,
            "CodeKey": self.packaged.keys["CodeKey"],
            "ExcludeTag": "NONE",
            "LedgerTableName": "express-path-ledger",
            **parameters,
        }
        template = self.packaged.text("TemplateKey")
        return deploy(self.sandbox, template, given, self.accounts[name], region, stack_name)

    def deploy_integrations(self, name: str, region: str, **parameters: str) -> Stack:
        """Deploy the integrations as their StackSet does."""
        given = {"ArtifactBucketPrefix": PREFIX, "CodeKey": self.packaged.keys["IntegrationsCodeKey"], **parameters}
        template = self.packaged.text("IntegrationsTemplateKey")
        stack_name = "StackSet-express-path-integrations"
        return deploy(self.sandbox, template, given, self.accounts[name], region, stack_name)
