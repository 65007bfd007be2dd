"""The output of cost: the same numbers as text and as JSON, at any width, always marked as an upper bound."""

import json
from itertools import product
from pathlib import Path

import pytest
from typer.testing import CliRunner

from express_path_cli.main import app
from express_path_cli.traffic import flow_logs
from sandbox.networks import Account, BehindNatGateway, BehindNatInstance
from sandbox.server import Sandbox
from tests.cli.traffic.costs import carry, cost, interface_of
from tests.cli.traffic.flow_records import GROUP, FlowLogs, crossing


@pytest.fixture
def expensive_and_cheap(sandbox: Sandbox) -> list[str]:
    """Two NAT gateways, the second with more traffic, and a NAT instance."""
    account = Account(sandbox)
    networks = [BehindNatGateway(account), BehindNatGateway(account)]
    for network, volume in zip(networks, (10, 123_456), strict=True):
        carry(account, network.nat, volume, 0)
    BehindNatInstance(account)
    return [network.nat for network in networks]


def test_the_table_fits_and_cuts_nothing(
    sandbox: Sandbox, expensive_and_cheap: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 80 and 120 columns, with and without measured traffic, no id or number is broken."""
    monkeypatch.setattr(flow_logs, "POLL_SECONDS", 0.0)
    account = Account(sandbox)
    logs = FlowLogs(account)
    interface, address = interface_of(account, expensive_and_cheap[1])
    [row] = account.ec2.describe_nat_gateways(NatGatewayIds=[expensive_and_cheap[1]])["NatGateways"]
    logs.publish(row["VpcId"])
    logs.record(*crossing(interface, "10.0.2.5", address, "192.0.2.1", 10**12, 10**13))
    for width, more in product((80, 120), ((), ("--flow-logs", GROUP))):
        result = CliRunner(env={"COLUMNS": str(width)}).invoke(app, ["cost", "--days", "1", *more])
        assert max(map(len, result.stdout.splitlines())) <= width
        assert "…" not in result.stdout
        assert "Upper bound" in result.stdout
        assert all(nat_id in result.stdout for nat_id in expensive_and_cheap)
        assert "$5,555.52" in result.stdout
        assert ("$495.00" in result.stdout) == bool(more)
        assert result.stdout.index(expensive_and_cheap[1]) < result.stdout.index(expensive_and_cheap[0])


def test_the_table_says_what_the_numbers_mean(expensive_and_cheap: list[str]) -> None:
    """The footnotes say that it is an upper bound, what is not included, and where the price comes from."""
    assert expensive_and_cheap
    text = " ".join(cost("--days", "1", "--price-per-gb", "0.045").stdout.split())
    assert "Total upper bound: $5,555.97 in 1 day," in text
    assert "Upper bound: NAT gateway metrics do not record destinations" in text
    assert "Hourly charges are not included" in text
    assert "Prices: $0.045 per GB (from --price-per-gb)." in text
    assert "no GB charge" in text


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_file_has_what_would_be_printed(expensive_and_cheap: list[str], tmp_path: Path, form: str) -> None:
    """With --output, the terminal shows that the file was written, unless --quiet is set."""
    file = tmp_path / "cost"
    arguments = ("--days", "1", "--format", form, "--output", str(file))
    quiet = cost(*arguments, "--quiet")
    assert (quiet.exit_code, quiet.stdout, quiet.stderr) == (0, "", "")
    result = cost(*arguments)
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"wrote {file}" in result.stderr
    text = file.read_text(encoding="utf-8")
    assert all(nat_id in text for nat_id in expensive_and_cheap)
    dashed = cost(*arguments[:-1], "-")
    assert expensive_and_cheap[0] in dashed.stdout
    assert "wrote" not in dashed.stderr
    if form == "json":
        assert json.loads(text)["schemaVersion"] == 1
    else:
        assert "Upper bound" in text
