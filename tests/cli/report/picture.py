"""Take the pictures of the report in docs/fix.md and README.md: python -m tests.cli.report.picture docs."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import Hub
from config_rule_sandbox.networks.public_sides import BehindFirewall, BehindNatGateway
from config_rule_sandbox.server import Sandbox
from tests.cli.report.browser import Visit, launched
from tests.support.command import invoke

SIZE = (1440, 2110)
"""The size of the page, in pixels."""


class Estate:
    """A few VPCs with names, as a company has them: some healed, some not, one in part."""

    def __init__(self, account: Account) -> None:
        """Build it."""
        self._account = account
        self._shop()
        self._analytics()
        hub = Hub(account)
        self._name(hub.vpc, "egress")
        for name in ("payments-prod", "ledger-prod"):
            spoke = hub.join(account, "a", "b")
            self._name(spoke.vpc, name)
            self._name(spoke.table, "spoke")

    def _shop(self) -> None:
        vpc = BehindNatGateway(self._account)
        self._name(vpc.vpc, "shop-prod")
        self._name(vpc.public, "public-a")
        self._name(vpc.subnet, "web-a")
        self._name(vpc.table, "private-a")
        for zone in "bc":
            public = self._subnet(vpc.vpc, vpc.public_table, f"public-{zone}", zone)
            table = self._account.table(vpc.vpc, NatGatewayId=self._account.nat_gateway(public))
            self._name(table, f"private-{zone}")
            self._subnet(vpc.vpc, table, f"web-{zone}", zone)
        data = self._account.table(vpc.vpc, NatGatewayId=vpc.nat)
        self._name(data, "data")
        self._account.endpoint(vpc.vpc, data)
        for zone in "abc":
            self._subnet(vpc.vpc, data, f"data-{zone}", zone)

    def _analytics(self) -> None:
        vpc = BehindFirewall(self._account)
        self._name(vpc.vpc, "analytics-prod")
        self._name(vpc.subnet, "spark-a")
        self._name(vpc.appliance_subnet, "firewall-a")
        for zone in "bc":
            self._subnet(vpc.vpc, vpc.table, f"spark-{zone}", zone)

    def _subnet(self, vpc_id: str, table_id: str, name: str, zone: str) -> str:
        subnet_id = self._account.subnet(vpc_id, table_id, zone)
        self._name(subnet_id, name)
        return subnet_id

    def _name(self, resource_id: str, name: str) -> None:
        self._account.ec2.create_tags(Resources=[resource_id], Tags=[{"Key": "Name", "Value": name}])


def take(pictures: Path) -> None:
    """Build the estate in a sandbox, write its report, and take screenshots of the page's top and of one VPC's drawing."""
    with Sandbox() as sandbox, TemporaryDirectory() as folder, launched() as browser:
        os.environ.update(sandbox.environment())
        Estate(Account(sandbox))
        file = Path(folder) / "report.html"
        result = invoke(["scan", "--output", str(file)])
        if result.exit_code != 1:
            sys.exit(result.output)
        visit = Visit(browser)
        page = visit.open(file, size=SIZE)
        for name in ("analytics-prod", "shop-prod"):  # close the one that is open, open the other
            page.locator("summary", has_text=name).click()
        page.mouse.move(0, 0)
        page.locator("h1").click()
        page.screenshot(path=pictures / "report.png")
        page.locator("details[open]", has_text="shop-prod").locator("svg").screenshot(path=pictures / "drawing.png")
        visit.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]))
