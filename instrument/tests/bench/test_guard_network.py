"""No packet leaves this machine, whatever names, settings, and proxies say: counted in a network of its own."""

import json
import sys
from pathlib import Path

import pytest

from express_path_instrument.lab.isolation import run_isolated
from express_path_instrument.lab.needs import missing

ROOT = Path(__file__).parents[3]
FACTS = Path(__file__).with_name("guard_facts.py")
NEITHER = "your AWS settings send requests to http://203.0.113.9, which is neither AWS nor the lab; nothing was sent"
CREDENTIALS = "203.0.113.9{}, which is not an address of this machine, its link, or a private network; nothing was sent"
REFUSED = "onnection refused"
"""What a command says that sent something to the lab's own address, where nothing listens."""
MESSAGES = {
    "public name": "leads to 203.0.113.9, which is not a loopback or private address; nothing was sent",
    "dual-stack name": "2001:db8::9",  # and 127.0.0.1, in any order
    "mapped address": "leads to ::ffff:203.0.113.9, which is not a loopback or private address; nothing was sent",
    "user in the URL": "not the URL of a server",
    "AWS_ENDPOINT_URL": "your AWS settings send requests for bucket",
    "AWS_ENDPOINT_URL_S3": "your AWS settings send requests for bucket",
    "AWS_ENDPOINT_URL_EC2": "your AWS settings lead a request to http://203.0.113.9; it was not sent",
    "AWS_ENDPOINT_URL_STS": NEITHER,
    "AWS_ENDPOINT_URL in the lab": NEITHER,
    "endpoint_url": "your AWS settings send requests for bucket",
    "services": "your AWS settings send requests for bucket",
    "services in the lab": NEITHER,
    "proxies": REFUSED,
    "metadata": CREDENTIALS.format(""),
    "metadata in the settings": CREDENTIALS.format(""),
    "metadata through proxies": "your AWS settings have no credentials",
    "container": CREDENTIALS.format("/credentials"),
    "role through proxies": 'Could not connect to the endpoint URL: "https://sts.us-east-1.amazonaws.com/"',
    "changing name": REFUSED,
    "changing name with TLS": REFUSED,
    "redirect": "307 TemporaryRedirect",
    "redirected reads": "307 TemporaryRedirect",
}
OTHERWISE = {
    ("redirected reads", "put"): "",
}
"""What some commands say instead, because they send something else first. Writes read nothing, so they succeed."""


@pytest.mark.long
@pytest.mark.skipif(bool(missing()), reason="; ".join(missing()))
def test_no_command_sends_anything_to_a_server_that_was_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command says what it refuses, and the counter, which has counted two packets before, counts none."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    found = json.loads(run_isolated([sys.executable, str(FACTS)], 600))
    assert found["control"] == 2
    assert {case for case, *_ in found["facts"]} == MESSAGES.keys()
    for case, command, status, message, packets in found["facts"]:
        assert packets == 0, f"{case}, {command}: {message}"
        assert OTHERWISE.get((case, command), MESSAGES[case]) in message, f"{case}, {command}"
        assert (status == 0) is (not OTHERWISE.get((case, command), "-")), f"{case}, {command}"
