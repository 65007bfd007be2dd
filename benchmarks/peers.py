"""express-path beside other tools: all judge the same network, in which it is known which subnets cross a NAT.

`python -m benchmarks peers` installs the other tools into build/peers, runs each against one sandbox, prints what it
found, and writes the table of docs/faq.md again. A flagged subnet is a finding of the tool.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import jmespath

from benchmarks.pages import with_table
from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.server import Sandbox
from tests.support.everything import Everything

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "faq.md"
INSTALLED = ROOT / "build" / "peers"
MEASURED_PROCESS, SCRIPT = (Path(__file__).with_name(name) for name in ("measured_process.py", "endpoint_script.py"))
PEERS = {"c7n": "0.9.53", "prowler": "5.46.0"}
"""The packages of the other tools (c7n is Cloud Custodian), and their versions of November 2026."""
REGION = "us-east-1"
PROWLER_CHECK = "vpc_endpoint_for_ec2_enabled"
"""Of the checks of Prowler, the nearest: none is about endpoints for S3 or S3 Express, or about routes to a NAT."""

# --- the network ------------------------------------------------------------------------------------------------------

CROSSING = frozenset(
    {
        "NAT gateway",
        "regional NAT gateway",
        "main table, NAT gateway",
        "NAT gateway, by halves",
        "endpoint on no table",
        "endpoint on another table",
        "endpoint in the other zone",
        "endpoint for s3",
        "endpoint and equal static route",
        "endpoint and customer's prefix list",
        "NAT instance",
        "floating interface",
        "forwarding instance, then NAT gateway",
        "firewall",
        "load balancer",
        "spoke",
        "spoke in a zone without attachment",
        "dual stack",
        "dual stack, DNS64",
        "dual stack, DNS64 and endpoint",
        "NAT64",
    }
)
"""The subnets of `Everything` whose traffic to S3 Express crosses a NAT, at least in part: they are built that way."""

NOT_CROSSING = frozenset(
    {
        "endpoint",
        "endpoint in one zone of two",
        "main table, endpoint",
        "firewall, then endpoint",
        "firewall of another VPC, then endpoint",
        "proxy firewall without translation, then endpoint",
        "spoke with an endpoint",
        "spoke in a zone that is not covered",
        "dual stack, IPv4 endpoint",
        "dual stack, endpoint of both families",
        "internet gateway",
        "closed internet gateway",
        "no route",
        "NAT gateway for another network",
        "main table",
        "blackhole",
        "dead instance",
        "instance that checks",
        "peering",
    }
)
"""Those whose traffic crosses none: by an endpoint or an internet gateway, or because there is no way out."""

NOT_JUDGED = frozenset(
    {"virtual private gateway", "load balancer, then endpoint", "excluded", "shared by another account"}
)
"""Subnets that nobody can judge by what AWS shows, or that the network's owner takes out. No tool is measured by them."""


@dataclass(frozen=True, slots=True)
class Judgment:
    """The situations that a tool found, missed, and flagged without a reason."""

    found: frozenset[str]
    missed: frozenset[str]
    false_alarms: frozenset[str]


def judged(subnets: Mapping[str, str], flagged: Iterable[str]) -> Judgment:
    """Compare the ids that a tool flagged with what is known of the subnets."""
    ids = set(flagged)
    names = {name for name, subnet_id in subnets.items() if subnet_id in ids}
    return Judgment(CROSSING & names, CROSSING - names, NOT_CROSSING & names)


# --- the tools --------------------------------------------------------------------------------------------------------


POLICY = """
policies:
  - name: nat
    resource: aws.route-table
    filters:
      - {type: subnet, key: SubnetId, value: present}  # first, as it finds which subnets use a main route table
      - or:
          - {type: list-item, key: Routes, attrs: [{NatGatewayId: present}, {State: active}]}
          - {type: list-item, key: Routes, attrs: [{NetworkInterfaceId: present}, {State: active}]}
      - not:
          - {type: list-item, key: Routes, attrs: [{DestinationPrefixListId: S3EXPRESS}, {State: active}]}
"""
"""Cloud Custodian's: route tables that lead to a NAT and have no route of the endpoint. S3EXPRESS is the prefix list."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: what it looks for, its command line, and the exit status of a run with findings.

    `query` (JMESPath) returns the ids that it flags from the JSON in `output`, a file in the folder in which it ran.
    """

    name: str
    version: str
    what: str
    line: tuple[str | Path, ...]
    status: int
    output: str
    query: str


def tools(policy: Path) -> list[Tool]:
    """Return the tools. The policy is a file of Cloud Custodian."""
    return [
        Tool(
            "express-path",
            version("express-path"),
            "`scan`: the path of each subnet",
            (Path(sys.executable).with_name("express-path"), "scan", "--format", "json"),
            1,
            "stdout",
            "subnets[?compliance=='NON_COMPLIANT'].subnetId",
        ),
        Tool(
            "Cloud Custodian",
            PEERS["c7n"],
            "a policy: route tables with a route to a NAT, and without one to the s3express prefix list",
            (INSTALLED / "c7n/bin/custodian", "run", "--region", REGION, "--output-dir", "output", policy),
            0,
            "output/nat/resources.json",
            '[]."c7n:matched-subnets"[]',
        ),
        Tool(
            "Prowler",
            PEERS["prowler"],
            f"its nearest check, `{PROWLER_CHECK}`: VPCs without an endpoint for EC2",
            (
                *(INSTALLED / "prowler/bin/prowler", "aws", "--region", REGION, "--checks", PROWLER_CHECK),
                *("--scan-unused-services", "--output-formats", "json-ocsf", "--output-directory", "output"),
            ),
            3,
            "output/*.ocsf.json",
            "[?status_code=='FAIL'].resources[].uid",
        ),
        Tool(
            "a short script",
            f"boto3 {version('boto3')}",
            "subnets with a default route to a NAT gateway, in a VPC without an s3express endpoint",
            (sys.executable, SCRIPT),
            0,
            "stdout",
            "[]",
        ),
    ]


# --- the measurement --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Run:
    """The ids that a tool flagged, the API calls that it made, its seconds of processor time, and its peak in MiB."""

    flagged: frozenset[str]
    calls: int
    seconds: float
    mebibytes: float


def measured(tool: Tool, sandbox: Sandbox) -> Run:
    """Run a tool without anybody's settings.

    CalledProcessError if it is not installed or fails; ValueError if it leaves no output, or none in JSON.
    """
    line = [sys.executable, "-S", MEASURED_PROCESS, str(tool.status), *tool.line]
    sandbox.calls.clear()
    with TemporaryDirectory() as folder:
        environment = {"PATH": os.environ["PATH"], "HOME": folder, **sandbox.environment()}
        used = subprocess.run(line, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
        [output] = Path(folder).glob(tool.output)
        flagged = jmespath.search(tool.query, json.loads(output.read_bytes()))
    seconds, mebibytes = map(float, used.split())
    return Run(frozenset(flagged), len(sandbox.calls), seconds, mebibytes)


def row(tool: Tool, sandbox: Sandbox, subnets: Mapping[str, str]) -> str:
    """Run a tool and print its wrong verdicts. Return its row of the table, which says if the tool did not run."""
    start = f"| {tool.name} | {tool.version} | {tool.what} |"
    try:
        measured(tool, sandbox)  # The first run compiles what Python imports.
        run = measured(tool, sandbox)
    except (subprocess.CalledProcessError, ValueError) as error:
        print(f"{tool.name} did not run: {error}")
        return f"{start} did not run | | | | | |"
    result = judged(subnets, run.flagged)
    print(f"{tool.name} missed: {sorted(result.missed)}; it flagged without a NAT: {sorted(result.false_alarms)}\n")
    counts = f"{len(result.found)} | {len(result.missed)} | {len(result.false_alarms)} | {run.calls}"
    return f"{start} {counts} | {run.seconds:.1f} | {run.mebibytes:.0f} |"


def install(package: str) -> None:
    """Install a package into an environment of its own. If that fails, its tool does not run."""
    environment, uv = INSTALLED / package, Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "--allow-existing", "--python", sys.executable, environment], check=False)
    requirement = f"{package}=={PEERS[package]}"
    subprocess.run([uv, "pip", "install", "--python", environment / "bin/python", requirement], check=False)


def main() -> None:
    """Run every tool, print the table, and write it into the page."""
    for package in PEERS:
        install(package)
    counts = f"found, of {len(CROSSING)} | missed | false alarms, of {len(NOT_CROSSING)} | calls | CPU seconds | MiB"
    lines = [f"| tool | version | what it looks for | {counts} |", "|---|---|---|---:|---:|---:|---:|---:|---:|"]
    with TemporaryDirectory() as folder, Sandbox(REGION) as sandbox:
        account = Account(sandbox)
        subnets = Everything(account).subnets
        named = [{"Name": "prefix-list-name", "Values": [f"com.amazonaws.{REGION}.s3express"]}]
        [listed] = account.ec2.describe_prefix_lists(Filters=named)["PrefixLists"]
        policy = Path(folder) / "policy.yml"
        policy.write_text(POLICY.replace("S3EXPRESS", listed["PrefixListId"]), encoding="utf-8")
        lines += [row(tool, sandbox, subnets) for tool in tools(policy)]
    table = "\n".join(lines)
    print(table)
    DOCUMENT.write_text(with_table(DOCUMENT.read_text(encoding="utf-8"), "peers", table), encoding="utf-8")
