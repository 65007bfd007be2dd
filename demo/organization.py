"""An organization to practice docs/organization.md in: two OUs with three accounts, in one of which the roll-out fails.

The account legacy has no recorder of AWS Config, without which there can be no rule. The account apps has a subnet behind a NAT.
"""

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import acting_in, direct_client
from config_rule_sandbox.organizations.members import STACK_SETS
from config_rule_sandbox.server import Sandbox
from demo.situations import without_endpoint

REGIONS = ("us-east-1", "eu-north-1")
UNITS = {"workloads": ("apps", "legacy"), "analytics": ("data",)}
FAILING = "legacy"
BUCKETS, NETWORK = "999988887777", "111122224444"
"""The accounts with the artifact buckets, and with the transit gateways. The StackSets do not deploy there."""
AGGREGATOR = "organization"
GUIDE = """\
A local AWS runs until you press Ctrl-C. Nothing here is in your AWS account. It has an organization with two OUs:

  {workloads} (workloads): the accounts apps, {apps}, and legacy, {legacy}
  {analytics} (analytics): the account data, {data}

Copy these lines into another terminal, in this folder. They are for "Before you start" of docs/organization.md:

{variables}

Then follow docs/organization.md from step 1 on. Where it names an account whose credentials you use, run:

# The management account: most steps
as_management
# The account that owns the buckets: step 2
as_buckets
# The network account: step 3
as_network

AWS Config has no recorder in legacy, so step 5 names that account, and step 7 fails there. To repair it:

as_legacy
for region in $(echo $REGIONS | tr , " "); do
  aws configservice put-configuration-recorder --region $region \\
    --configuration-recorder name=default,roleARN=arn:aws:iam::{legacy}:role/recorder
  aws configservice put-delivery-channel --region $region --delivery-channel name=default,s3BucketName=history
  aws configservice start-configuration-recorder --region $region --configuration-recorder-name default
done
as_management
# As "If accounts fail" says
aws cloudformation update-stack-instances --stack-set-name express-path-$OU --regions $(echo $REGIONS | tr , " ") \\
  --deployment-targets OrganizationalUnitIds=$OU,Accounts={legacy},AccountFilterType=INTERSECTION
# The rule reports to the aggregator a few seconds later
express-path org status --aggregator organization --role-name express-path/express-path-audit
"""


class PracticeOrganization:
    """The organization: `id`, `root_id`, the IDs of `accounts` and `units` by name, and the subnet behind a NAT."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Create the organization, of which the sandbox's own account is the management account."""
        self._sandbox = sandbox
        organizations: Client = sandbox.client("organizations")
        self.id = str(organizations.create_organization(FeatureSet="ALL")["Organization"]["Id"])
        self.root_id = str(organizations.list_roots()["Roots"][0]["Id"])
        self.accounts: dict[str, str] = {}
        self.units: dict[str, str] = {}
        for unit, names in UNITS.items():
            made = organizations.create_organizational_unit(ParentId=self.root_id, Name=unit)
            self.units[unit] = str(made["OrganizationalUnit"]["Id"])
            for name in names:
                added = organizations.create_account(AccountName=name, Email=f"{name}@example.com")
                self.accounts[name] = str(added["CreateAccountStatus"]["AccountId"])
                self.move(name, self.root_id, self.units[unit])
                if name != FAILING:
                    self.record(name)
        self.aggregate(sandbox.account_id)
        network = without_endpoint(sandbox, sandbox.credentials(self.accounts["apps"]))
        self.subnet_id = network["data-private"]

    def move(self, name: str, source_id: str, destination_id: str) -> None:
        """Move an account between OUs or the root."""
        organizations: Client = self._sandbox.client("organizations")
        organizations.move_account(
            AccountId=self.accounts[name], SourceParentId=source_id, DestinationParentId=destination_id
        )

    def aggregate(self, account_id: str) -> None:
        """Create an aggregator of all accounts in an account."""
        sources = [{"AccountIds": [*self.accounts.values()], "AllAwsRegions": True}]
        config: Client = direct_client(self._sandbox, "config")
        with acting_in(account_id):
            config.put_configuration_aggregator(
                ConfigurationAggregatorName=AGGREGATOR, AccountAggregationSources=sources
            )

    def delegate(self, name: str) -> str:
        """Make an account a delegated administrator of StackSets, with an aggregator, and return its ID."""
        account_id = self.accounts[name]
        organizations: Client = self._sandbox.client("organizations")
        organizations.register_delegated_administrator(AccountId=account_id, ServicePrincipal=STACK_SETS)
        self.aggregate(account_id)
        return account_id

    def record(self, name: str) -> None:
        """Let AWS Config record in an account."""
        account_id = self.accounts[name]
        role = f"arn:aws:iam::{account_id}:role/aws-service-role/config.amazonaws.com/AWSServiceRoleForConfig"
        for region in REGIONS:
            config: Client = direct_client(self._sandbox, "config", region)
            with acting_in(account_id):
                config.put_configuration_recorder(ConfigurationRecorder={"name": "default", "roleARN": role})
                config.put_delivery_channel(DeliveryChannel={"name": "default", "s3BucketName": "history"})
                config.start_configuration_recorder(ConfigurationRecorderName="default")

    def variables(self) -> dict[str, str]:
        """Return the values of "Before you start" of docs/organization.md, without PATH."""
        account_id = self._sandbox.account_id
        return {
            "PREFIX": "example-express-path",
            "ARTIFACT_ACCOUNT": BUCKETS,
            "ORGANIZATION": self.id,
            "ROOT": self.root_id,
            "OU": self.units["workloads"],
            "REGIONS": ",".join(REGIONS),
            "AWS_REGION": REGIONS[0],
            "CALL_AS": "SELF",
            "AUDITOR": f"arn:aws:iam::{account_id}:role/Audits",
            "OPERATOR": f"arn:aws:iam::{account_id}:role/OnCall",
            "NETWORK_ROLE": "",
            "EXTERNAL_ID": "",
        }

    def guide(self, exports: list[str]) -> str:
        """Return what to do in another terminal, after these lines that lead there."""
        lines = [*exports, *(f"export {name}={value}" for name, value in self.variables().items())]
        accounts = {"management": self._sandbox.account_id, "buckets": BUCKETS, "network": NETWORK}
        accounts["legacy"] = self.accounts["legacy"]
        for name, account_id in accounts.items():
            key_id = self._sandbox.credentials(account_id)[
                "aws_access_key_id"
            ]  # it says whose account it is; secrets are not checked
            lines.append(f"as_{name}() {{ export AWS_ACCESS_KEY_ID={key_id}; }}")
        return GUIDE.format(variables="\n".join(lines), **self.accounts, **self.units)
