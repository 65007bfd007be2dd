"""Make deliberate mistakes in a copy of the engine, one at a time, and print which test finds each: `make mistakes`."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
ENGINE = "functions/express_path"
TESTS = (
    "tests/domain/path",
    "tests/domain/network",
    "tests/domain/verdict",
    "tests/networks",
    "tests/cli/nat",
    "tests/adapters",
)
"""The folders with tests of paths. The quickest come first."""
ROUTING, HOPS = "domain/path/routing.py", "domain/path/hops.py"
TRACING, FIREWALLS = "domain/path/tracing.py", "adapters/records.py"
CLAIMS = "domain/network/claims.py"


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake: what it is, the module of the engine, the text that is there, and the text that replaces it."""

    what: str
    module: str
    right: str
    wrong: str


MISTAKES = (
    Mistake(
        "an association of a main table with a subnet is skipped",
        CLAIMS,
        "if association.subnet_id:\n                    _claim(",
        "if association.subnet_id and not association.main and not any(a.main for a in table.associations):\n"
        "                    _claim(",
    ),
    Mistake(
        "a table that a gateway is associated with is skipped",
        CLAIMS,
        "if not association.may_count:",
        "if not association.may_count or any(a.gateway_id for a in table.associations):",
    ),
    Mistake(
        "of two tables that claim a subnet, the first one wins",
        ROUTING,
        "return claiming[0] if len(claiming) == 1 else None",
        "return claiming[0] if claiming else None",
    ),
    Mistake(
        "of two tables by which a subnet may be governed, the first one wins",
        ROUTING,
        "possible = [tables[0] if len(tables) == 1 else None for tables in claiming]",
        "possible = [tables[0] if tables else None for tables in claiming]",
    ),
    Mistake(
        "an old association wins over a new one",
        CLAIMS,
        "for state in reversed(ASSOCIATION_STATES):",
        "for state in ASSOCIATION_STATES:",
    ),
    Mistake(
        "a table that is associated with a gateway counts as the main table",
        CLAIMS,
        "elif association.main:",
        "elif association.main or association.gateway_id:",
    ),
    Mistake(
        "a closed zonal NAT gateway counts as open",
        HOPS,
        "if table is None or version.block_mode is not BlockMode.BIDIRECTIONAL:",
        "if True:",
    ),
    Mistake(
        "a closed NAT gateway drops traffic that another route carries",
        HOPS,
        "only_internet = all(",
        "only_internet = any(",
    ),
    Mistake(
        "a closed NAT gateway drops traffic without any route",
        HOPS,
        "if routed.routes and only_internet",
        "if only_internet",
    ),
    Mistake(
        "block-ingress closes NAT gateways",
        HOPS,
        "version.block_mode is not BlockMode.BIDIRECTIONAL:",
        "version.block_mode not in (BlockMode.BIDIRECTIONAL, BlockMode.INGRESS):",
    ),
    Mistake(
        "a private NAT gateway can be closed",
        HOPS,
        'if gateway.connectivity != "public":',
        "if False:",
    ),
    Mistake(
        "a closed regional NAT gateway counts as open",
        HOPS,
        "if vpc and vpc.block_mode is BlockMode.BIDIRECTIONAL:",
        "if False:",
    ),
    Mistake(
        "block-ingress leaves internet gateways open",
        HOPS,
        "state.block_mode is BlockMode.INGRESS and not is_egress_only",
        "False",
    ),
    Mistake(
        "block-ingress closes egress-only internet gateways",
        HOPS,
        "BlockMode.INGRESS and not is_egress_only",
        "BlockMode.INGRESS",
    ),
    Mistake(
        "an unknown mode of Block Public Access counts as off",
        HOPS,
        "if state.block_mode in (BlockMode.UNKNOWN, BlockMode.NEW) and",
        "if False and",
    ),
    Mistake(
        "the mode of the first subnet is forgotten beyond a hop",
        HOPS,
        "strictest((state.block_mode, version.block_mode))",
        "version.block_mode",
    ),
    Mistake(
        "the mode of an attachment's subnet is ignored",
        HOPS,
        "strictest((state.block_mode, version.block_mode))",
        "state.block_mode",
    ),
    Mistake(
        "a tag makes an endpoint a firewall's",
        HOPS,
        "if firewall:\n        trace = beyond",
        'if firewall or "AWSNetworkFirewallManaged" in endpoint.tags:\n        trace = beyond',
    ),
    Mistake("a translating firewall forwards", HOPS, "if gateway_id is not None:", "if False:"),
    Mistake(
        "an unknown appliance behind which an endpoint is counts as clean",
        HOPS,
        "replace(outcome, reason=Reason.UNRESOLVED_EGRESS, note=note, lacks=lacks, unknown=unknown)",
        "outcome",
    ),
    Mistake("a firewall's NAT gateway is not shown", HOPS, "if not gateway_id:", "if True:"),
    Mistake("NAT_NONE translates", FIREWALLS, 'forwards=scope == "NAT_NONE"', "forwards=False"),
    Mistake("attached NAT gateways do not make a firewall a proxy", FIREWALLS, " or any(gateways.values())", ""),
    Mistake(
        "an IPv6 list that was not seen does not exist",
        TRACING,
        "return Family.IPV6 not in known and not origin.shows_ipv6_lists",
        "return False",
    ),
    Mistake(
        "an IPv6 list may be unseen although all lists were read",
        TRACING,
        "return Family.IPV6 not in known and not origin.shows_ipv6_lists",
        "return Family.IPV6 not in known",
    ),
    Mistake(
        "an unseen IPv6 list matters without an IPv6 route",
        TRACING,
        "and index.has_other_than_local(Family.IPV6)",
        "and True",
    ),
)


def main() -> int:
    """Print a table of all mistakes. Return 1 if a mistake is not found."""
    with TemporaryDirectory(prefix="express-path-mistakes-") as folder:
        copy = Path(folder)
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
        for name in filter(None, listed.split("\0")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
        found = {mistake: _finding_test(copy, mistake) for mistake in MISTAKES}
    width = max(len(mistake.what) for mistake in found)
    for mistake, test in found.items():
        sys.stdout.write(f"{mistake.what:{width}}  {mistake.module:32}  {test or 'NOT FOUND'}\n")
    sys.stdout.write(f"{len(found)} mistakes, {sum(not test for test in found.values())} not found\n")
    return int(not all(found.values()))


def _finding_test(copy: Path, mistake: Mistake) -> str:
    """Return the first test that fails with a mistake, empty if none does. The mistake is undone."""
    module = copy / ENGINE / mistake.module
    right = module.read_text(encoding="utf-8")
    if right.count(mistake.right) != 1:
        raise ValueError(f"{mistake.module} does not contain once: {mistake.right}")
    module.write_text(right.replace(mistake.right, mistake.wrong), encoding="utf-8")
    try:
        command = [sys.executable, "-m", "pytest", "-qx", "--no-header", "-pno:randomly", "-pno:cacheprovider", *TESTS]
        ran = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    finally:
        module.write_text(right, encoding="utf-8")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.MULTILINE)
    return failed[1].replace("tests/", "", 1) if failed else ""


if __name__ == "__main__":
    sys.exit(main())
