"""A roll-out of docs/organization.md with the templates of org/, in the sandbox."""

from typing import Any

from botocore.exceptions import ClientError
from moto.config.models import config_backends

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.server import Sandbox
from tests.support.organization import PREFIX, Organization, Packaged
from tests.support.template import ROOT

REGION = "us-east-1"
RULE = "s3express-no-nat-path"


class RollOut:
    """An organization with the accounts apps, data, and legacy in one OU, all of which record, and the code."""

    def __init__(self, sandbox: Sandbox, packaged: Packaged) -> None:
        """Prepare everything up to the ledger."""
        self.organization = Organization(sandbox, packaged, "apps", "data", "legacy")
        self.cloudformation: Client = sandbox.client("cloudformation")
        self.accounts = self.organization.accounts
        self.unit_id = self.organization.unit(*self.accounts)
        self.name = f"express-path-{self.unit_id}"
        self.keys = packaged.keys
        self.open(REGION)
        self.organizations: Client = sandbox.client("organizations")
        self.root_id = str(self.organizations.list_roots()["Roots"][0]["Id"])

    def open(self, region: str) -> None:
        """Provide the code in a Region, in which all accounts record."""
        self.organization.provide_code(region)
        for name in self.accounts:
            self.organization.record(name, region)

    def deploy_integrations(self, **parameters: str) -> str:
        """Deploy the integrations to the OU."""
        rule = self.cloudformation.describe_stack_set(StackSetName=self.name)["StackSet"]["StackSetARN"]
        keys = {name: self.keys[name] for name in ("IntegrationsTemplateKey", "IntegrationsCodeKey")}
        given = {"OrganizationalUnitId": self.unit_id, "RuleStackSetArn": rule, **keys, **parameters}
        return self.deploy(f"express-path-integrations-{self.unit_id}", "integrations-stackset", **given)

    def deploy_ledger(self) -> None:
        """Deploy the ledger to every account."""
        ledger = {"RootId": self.root_id, "LedgerTemplateKey": self.keys["LedgerTemplateKey"]}
        self.deploy("express-path-ledger", "ledger-stackset", **ledger)

    def deploy(self, stack: str, template: str, **parameters: str) -> str:
        """Create or update a stack from a template of org/ with these parameters besides those it has; return its status."""
        text = (ROOT / "org" / f"{template}.yaml").read_text(encoding="utf-8")
        given = {"Regions": REGION, "ArtifactBucketPrefix": PREFIX} | parameters
        rows: list[dict[str, Any]] = [{"ParameterKey": name, "ParameterValue": value} for name, value in given.items()]
        try:
            found = self.cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
        except ClientError:
            self.cloudformation.create_stack(StackName=stack, TemplateBody=text, Parameters=rows)
        else:
            kept = {row["ParameterKey"] for row in found["Parameters"]} - given.keys()
            rows += [{"ParameterKey": name, "UsePreviousValue": True} for name in kept]
            self.cloudformation.update_stack(StackName=stack, TemplateBody=text, Parameters=rows)
        return str(self.cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"])

    def deploy_rule(self, **parameters: str) -> str:
        """Deploy the rule to the OU, as step 6 of the page or a promotion does."""
        ledger = self.cloudformation.describe_stack_set(StackSetName="express-path-ledger")["StackSet"]["StackSetARN"]
        given = {
            "OrganizationalUnitId": self.unit_id,
            "LedgerStackSetArn": ledger,
            "TemplateKey": self.keys["TemplateKey"],
            "CodeKey": self.keys["CodeKey"],
        }
        return self.deploy(self.name, "stackset", **given, **parameters)

    def status(self) -> str:
        """Return the status of the OU's stack."""
        return str(self.cloudformation.describe_stacks(StackName=self.name)["Stacks"][0]["StackStatus"])

    def move_out(self, name: str) -> None:
        """Move an account from the OU to the root."""
        self._move(name, self.unit_id, self.root_id)

    def move_in(self, name: str) -> None:
        """Move an account from the root to the OU."""
        self._move(name, self.root_id, self.unit_id)

    def _move(self, name: str, source_id: str, destination_id: str) -> None:
        moved = {"SourceParentId": source_id, "DestinationParentId": destination_id}
        self.organizations.move_account(AccountId=self.accounts[name], **moved)

    def statuses(self) -> dict[str, str]:
        """Return the status of the instance in each account."""
        rows = self.cloudformation.list_stack_instances(StackSetName=self.name)["Summaries"]
        names = {account_id: name for name, account_id in self.accounts.items()}
        return {names[row["Account"]]: row["Status"] for row in rows}

    def deployed(self) -> dict[str, str]:
        """Return what publicSubnets is in the rule of each account that has the rule."""
        found = {}
        for name, account_id in self.accounts.items():
            rules = config_backends[account_id][REGION].config_rules
            if RULE in rules:
                found[name] = rules[RULE].input_parameters.partition('"publicSubnets": "')[2].partition('"')[0]
        return found

    def stop_recording(self, name: str) -> None:
        """Delete the recorder of an account, without which a rule can be neither created nor changed."""
        config_backends[self.accounts[name]][REGION].recorders.clear()

    def repair(self, name: str) -> None:
        """Update the instance of one account, as the page says."""
        targets = {"OrganizationalUnitIds": [self.unit_id], "Accounts": [self.accounts[name]]}
        filtered = targets | {"AccountFilterType": "INTERSECTION"}
        self.cloudformation.update_stack_instances(StackSetName=self.name, Regions=[REGION], DeploymentTargets=filtered)
