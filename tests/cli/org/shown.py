"""What `org check` and `org status` print in a terminal: shown.txt. To write it again, run python -m tests.cli.org.shown."""

import os
import shlex
from pathlib import Path

from moto.moto_api._internal import mock_random
from typer.testing import CliRunner

from config_rule_sandbox.cloudformation.stack_sets import set_status
from config_rule_sandbox.server import Sandbox
from express_path.domain.path.reasons import Reason
from express_path_cli.main import app
from tests.cli.org.deployed import STACK_SET, DeployedOrganization
from tests.cli.org.organizations import REGIONS, TYPES, Organization, put_recorder
from tests.support import shown_output
from tests.support.config_aggregator import Aggregator, answering

SHOWN = Path(__file__).parent / "shown.txt"


def regenerated(sandbox: Sandbox) -> str:
    """Return the text of the file with the output that its commands have now."""
    return shown_output.regenerated(SHOWN, lambda command: _output_of(sandbox, command))


def _output_of(sandbox: Sandbox, command: str) -> str:
    sandbox.reset()
    mock_random.seed(20)  # moto's account ids are random
    words = shlex.split(command)[1:]
    aggregator = Aggregator(sandbox)
    with answering(aggregator):
        if words[1] == "check":
            _before_a_roll_out(sandbox)
        else:
            _after_a_roll_out(sandbox, aggregator)
        return shown_output.plain(CliRunner().invoke(app, [*words, "--quiet"], env=shown_output.TERMINAL).stdout)


def _before_a_roll_out(sandbox: Sandbox) -> None:
    organization = Organization(sandbox)
    for name in ("data-platform", "web-shop", "analytics"):
        organization.add(name)
    organization.record("data-platform")
    organization.record("web-shop", REGIONS[:1])
    put_recorder(organization.aws("web-shop", "config"), {"allSupported": False, "resourceTypes": TYPES[2:]})
    sandbox.client("s3").create_bucket(Bucket=f"example-artifacts-{REGIONS[0]}")


def _after_a_roll_out(sandbox: Sandbox, aggregator: Aggregator) -> None:
    organization = DeployedOrganization(sandbox, aggregator)
    home, north = REGIONS
    for number in range(3):
        subnet_id, nat = f"subnet-0a1b2c3d4e5f6071{number}", "nat-0a1b2c3d4e5f60718"
        organization.result("data", home, subnet_id, Reason.NAT_GATEWAY, [nat], "0a1b2c3d4e5f60718")
    hops = ("tgw-0a1b2c3d4e5f60718", "nat-0b1c2d3e4f5061728")
    beyond = Reason.NAT_BEYOND_TRANSIT_GATEWAY
    organization.result("web", north, "subnet-0b1c2d3e4f5061728", beyond, hops, "0b1c2d3e4f5061728")
    organization.result("web", home, "subnet-0c1d2e3f405162738", Reason.ENDPOINT, ["vpce-0a1b2c3d4e5f60718"])
    organization.sweep("data", home, NON_COMPLIANT=3)
    organization.sweep("web", north, NON_COMPLIANT=1)
    failed = (organization.accounts["data"], north)
    organization.aggregation.places.remove(failed)
    set_status((sandbox.account_id, sandbox.region), STACK_SET, failed, "OUTDATED", "NoAvailableConfigurationRecorder")


if __name__ == "__main__":
    with Sandbox() as running:
        os.environ.update(running.environment())
        SHOWN.write_text(regenerated(running), encoding="utf-8")
