"""The output that docs/organization.md shows. To write it again, run python -m tests.cli.org.shown."""

import os
import re
import shlex
from pathlib import Path

from moto.moto_api._internal import mock_random
from typer.testing import CliRunner

from express_path.domain.path.reasons import Reason
from express_path_cli.main import app
from sandbox.described_stacks import set_status
from sandbox.server import Sandbox
from tests.cli.org.deployed import STACK_SET, DeployedOrganization
from tests.cli.org.organizations import REGIONS, TYPES, Organization, put_recorder
from tests.support.config_aggregator import Aggregator, answering

DOCUMENT = Path(__file__).parents[3] / "docs" / "organization.md"
TERMINAL = {"COLUMNS": "80", "TERM": "xterm", "FORCE_COLOR": "1"}
_BLOCK = re.compile(
    r"^```console\n\$ (?P<command>express-path org [^\n]*)\n(?P<output>.*?)^```$", re.MULTILINE | re.DOTALL
)
_CONTROL_CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def regenerated(sandbox: Sandbox) -> str:
    """Return the text of the document with the output that its commands have now."""

    def block(found: re.Match[str]) -> str:
        return f"```console\n$ {found['command']}\n{_output_of(sandbox, found['command'])}```"

    return _BLOCK.sub(block, DOCUMENT.read_text(encoding="utf-8"))


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
        shown = CliRunner().invoke(app, [*words, "--quiet"], env=TERMINAL).stdout
    return "".join(f"{line.rstrip()}\n" for line in _CONTROL_CODES.sub("", shown).splitlines())


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
    organization.sweep("data", home, NonCompliant=3)
    organization.sweep("web", north, NonCompliant=1)
    failed = (organization.accounts["data"], north)
    organization.aggregation.places.remove(failed)
    set_status((sandbox.account_id, sandbox.region), STACK_SET, failed, "OUTDATED", "NoAvailableConfigurationRecorder")


if __name__ == "__main__":
    with Sandbox() as running:
        os.environ.update(running.environment())
        DOCUMENT.write_text(regenerated(running), encoding="utf-8")
