"""What a report shows in addition to its result: the costs of NATs, and links to the AWS console."""

from dataclasses import dataclass, field

from express_path.domain.network.arns import partition
from express_path_cli.findings.next_commands import ScanOptions
from express_path_cli.traffic.nat_costs import NatCosts

_CONSOLE_DOMAINS = {
    "aws": "console.aws.amazon.com",
    "aws-cn": "console.amazonaws.cn",
    "aws-us-gov": "console.amazonaws-us-gov.com",
}
"""The domain of the console in each partition; the consoles of isolated partitions have no public domain.

https://docs.aws.amazon.com/general/latest/gr/mgmt-console.html
"""


@dataclass(frozen=True, slots=True)
class Additions:
    """costs: of `--cost`. console_links: whether IDs lead to the AWS console, which tells nobody what they may see.

    scan: the options of the command that writes the report, for the commands in the page.
    """

    costs: NatCosts | None = None
    console_links: bool = False
    scan: ScanOptions = field(default_factory=ScanOptions)


NO_ADDITIONS = Additions()


def console_address(region: str) -> str:
    """Return the address of the VPC console of a Region, to which a fragment is added; empty if it has none."""
    domain = _CONSOLE_DOMAINS.get(partition(region))
    return f"https://{region}.{domain}/vpcconsole/home?region={region}" if domain else ""
