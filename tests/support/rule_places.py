"""Accounts and Regions of an organization with the rule: its stack, AWS Config, and the function."""

from collections.abc import Mapping
from typing import Any

from config_rule_sandbox.config.invocation import Delivery
from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import acting_in
from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import LAMBDA_CONFIG, Aws
from express_path.adapters.network_reader import SnapshotReader
from express_path.evaluation import RuleServices
from express_path.handlers import evaluate
from tests.support.network import Builder, Private
from tests.support.rule import RULE, Context
from tests.support.stack_sets import deploy

BUS = f"express-path-{RULE.name}"


class RulePlace:
    """One account and Region with the deployed rule."""

    def __init__(
        self,
        sandbox: Sandbox,
        account_id: str,
        region: str,
        stack_set: str,
        parameters: Mapping[str, str] | None = None,
    ) -> None:
        """Deploy the rule to a VPC with one subnet behind a NAT gateway, and evaluate it."""
        self.sandbox, self.account_id, self.region = sandbox, account_id, region
        self._credentials = sandbox.credentials(account_id)
        deploy(sandbox, account_id, region, stack_set)
        self.client("events").create_event_bus(Name=BUS)
        self._services: RuleServices | None = None
        with acting_in(account_id):
            self.builder = Builder(sandbox.seen_from(account_id, region))
            self.vpc = Private(self.builder)
            self.loop = ConfigLoop(
                sandbox.seen_from(account_id, region), self._invoke, rule=RULE, parameters=parameters
            )
        assert not self.sweep().error

    def client(self, service: str) -> Client:
        """Return a client of the account in the Region."""
        return self.sandbox.client(service, self.region, self._credentials)

    def _invoke(self, event: dict[str, Any]) -> Any:
        if self._services is None:
            aws = Aws.connect(self.region, client_config=LAMBDA_CONFIG)
            aws = Aws(aws.session, LAMBDA_CONFIG, self.region, self._credentials)
            self._services = RuleServices(aws, SnapshotReader(aws), BUS)
        return evaluate.handler(event, Context(), self._services)

    def sweep(self) -> Delivery:
        """Let AWS Config invoke the function as its schedule does."""
        with acting_in(self.account_id):
            return self.loop.scheduled()

    def stored(self) -> dict[str, str]:
        """Return the reasons that AWS Config has, by subnet."""
        return {row.resource[1]: str(row.annotation).partition(":")[0] for row in self.loop.results.of_rule(RULE.name)}
