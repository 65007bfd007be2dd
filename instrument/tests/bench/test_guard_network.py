"""No packet leaves this machine, whatever names, settings, and proxies say: counted in a network of its own."""

import json
import sys
from pathlib import Path

import pytest

from express_path_instrument.lab.isolation import run_isolated
from express_path_instrument.lab.needs import missing

ROOT = Path(__file__).parents[3]
FACTS = Path(__file__).with_name("guard_facts.py")
MESSAGES = {
    "public name": "leads to 203.0.113.9, which is not a loopback or private address; nothing was sent",
    "dual-stack name": "leads to 127.0.0.1, 2001:db8::9, which is not a loopback or private address; nothing was sent",
    "AWS_ENDPOINT_URL": "to http://203.0.113.9",
    "AWS_ENDPOINT_URL in the lab": "which is neither AWS nor the lab; nothing was sent",
    "proxies": "connection refused",  # at the lab's own address, where nothing listens
    "awscrt with a name": "--engine awscrt resolves lab.example itself",
}


@pytest.mark.skipif(bool(missing(Path())), reason="; ".join(missing(Path())))
def test_no_command_sends_anything_to_a_server_that_was_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command refuses each case, and the counter, which has counted a packet before, counts none."""
    for name, value in {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "EC2_METADATA_DISABLED": "true"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    found = json.loads(run_isolated([sys.executable, str(FACTS)], 300))
    assert found["control"] == 1
    assert {case for case, *_ in found["facts"]} == MESSAGES.keys()
    for case, command, status, message, packets in found["facts"]:
        assert (status, packets) == (2, 0), f"{case}, {command}: {message}"
        assert MESSAGES[case] in message, f"{case}, {command}"
