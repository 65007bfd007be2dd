"""Rows and results for tests of findings, made by hand."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime

from express_path.domain.network.resources import TargetKind
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Compliance, Reason, Unknown
from express_path.domain.remedy.texts import Remedy
from express_path.errors import ApiError
from express_path_cli.findings import output
from express_path_cli.findings.baseline import Baseline, compare
from express_path_cli.findings.formats import Format
from express_path_cli.findings.hubs import Hub
from express_path_cli.findings.options import RenderOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Ignored, Row
from express_path_cli.findings.scan_file import FindingId
from express_path_cli.terminal.errors import Failure

MADE_AT = datetime(2026, 2, 13, 5, 48, 51, tzinfo=UTC)
ACCOUNT, REGION = "111122223333", "us-east-1"
NAT = Hop(TargetKind.NAT_GATEWAY, "nat-0204e28944207a124", "0.0.0.0/0")
REMEDY = Remedy("Associate it.", "aws ec2 modify-vpc-endpoint --region us-east-1", "https://docs.aws.amazon.com/a")
FLAGGED = Row(
    ACCOUNT,
    REGION,
    "vpc-0edcd841989b4dde2",
    "subnet-0039cb1b2e70efa19",
    "use1-az4",
    "rtb-035d2c55604d54d49",
    Compliance.NON_COMPLIANT,
    Reason.NAT_GATEWAY,
    "NAT_GATEWAY: <crosses> a | NAT",
    (NAT,),
    remedy=REMEDY,
)
"""A subnet whose path crosses a NAT."""
COMPLIANT = replace(
    FLAGGED, subnet_id="subnet-2", compliance=Compliance.COMPLIANT, reason=Reason.ENDPOINT, path=(), remedy=None
)
DROPPED = replace(
    FLAGGED,
    subnet_id="subnet-3",
    compliance=Compliance.NOT_APPLICABLE,
    reason=Reason.DROPPED,
    annotation="DROPPED: AWS drops it",
    note="blackhole: its target does not exist any more, or is not attached; replace the route's target, or delete the route",
)
EXCLUDED = replace(
    COMPLIANT,
    subnet_id="subnet-4",
    compliance=Compliance.NOT_APPLICABLE,
    reason=Reason.EXCLUDED,
    annotation="EXCLUDED: by a tag",
    note="tag key=a on b on subnet-4",
    excluded_by="key=a on b",
)
UNKNOWN = replace(
    FLAGGED,
    subnet_id="subnet-5",
    route_table_id=None,
    compliance=Compliance.NOT_APPLICABLE,
    reason=Reason.UNRESOLVED_EGRESS,
    annotation="UNRESOLVED_EGRESS: its route table is not known",
    path=(),
    unknown=Unknown.PERMISSION,
)
EVERY = (FLAGGED, COMPLIANT, DROPPED, EXCLUDED, UNKNOWN)
"""A row of each kind: each compliance, and each reason that a format treats in a way of its own."""
IGNORED = replace(FLAGGED, subnet_id="subnet-6", ignored=Ignored("moves in <March>", date(2026, 3, 31)))
"""A finding that the configuration file ignores."""
HUB = Hub(ACCOUNT, REGION, "vpc-1", ("rtb-1",), "vpce-1", "tgw-1", "tgw-attach-1", is_certain=True, subnets=3)
"""A VPC whose endpoint cuts other VPCs off."""
ODD = "a|b <c> &amp; \U0001f680"
"""A name that needs care in every markup."""
LINKING = (
    *("@octocat", "(@org/team)", "\u00e9@octocat", "x@octocat", "_@octocat", "me@example.com", "mailto:me@example.com"),
    *(
        "https://example.com",
        "HTTP://example.com/a_b",
        "\u00e9https://example.com",
        "ftp://example.com",
        "irc://example.com",
    ),
    *(
        "www.example.com",
        "www.",
        "(WWW.example.com)",
        "*www.example.com*",
        "\u00e9www.example.com",
        "<https://example.com>",
    ),
    *(
        "#123",
        "x#4",
        "org/repo#1",
        "GH-12",
        "\u00e9gh-3",
        "me@0123456789abcdef",
        "GL-5",
        "[vulnerability:3]",
        '[wiki_page:"a b"]',
        "!6",
        "$7",
        "&8",
        "~bug",
        '%"a b"',
    ),
)
"""Texts of which GitHub or GitLab makes a link or a mention."""
LINKS = re.compile(
    r"://\w|www\.|[\w.+-]@[\w-]+\.\w|@\w|[#!$&]\d|[~%][\w\"]|(?<![a-z\d])g[hl]-\d|\[\w+:[^\[\]]+\]",
    re.IGNORECASE,
)
"""What is a link or a mention: https://github.github.com/gfm/#autolinks-extension-,
https://docs.github.com/en/get-started/writing-on-github/working-with-advanced-formatting/autolinked-references-and-urls, and
https://docs.gitlab.com/user/markdown/#gitlab-specific-references. They look at one text of a page at a time."""
LABELED = replace(
    FLAGGED,
    subnet_name="app-a",
    route_table_name=ODD,
    vpc_name="prod",
    tags={"owner": "data:team", "cost=center": "42"},
)
OF_LABELED = {
    "accountId": LABELED.account_id,
    "region": LABELED.region,
    "vpcId": LABELED.vpc_id,
    "subnetId": LABELED.subnet_id,
    "availabilityZoneId": LABELED.availability_zone_id,
    "routeTableId": LABELED.route_table_id,
    "compliance": "NON_COMPLIANT",
    "reason": "NAT_GATEWAY",
    "annotation": LABELED.annotation,
}
"""Its fields that have the same values in all formats for machines."""
DENIED = Failure(
    "account 444455556666 eu-west-1", ApiError("ec2:DescribeSubnets", "UnauthorizedOperation", "no | <way>")
)


def result_of(*rows: Row, **more: object) -> Result:
    """Return the result of a scan that found these rows."""
    return Result(rows, MADE_AT, **more)  # type: ignore[arg-type]


def labeled() -> Result:
    """Return a result with a subnet that has names and tags, and one without any."""
    return result_of(LABELED, replace(FLAGGED, subnet_id="subnet-2", vpc_id="vpc-2"))


def compared() -> Result:
    """Return a result with a finding of each mark: new, unchanged, fixed, unknown, and replaced by a new one."""
    new, worse = replace(FLAGGED, subnet_id="subnet-new"), replace(FLAGGED, subnet_id="subnet-worse")
    worse = replace(worse, reason=Reason.PARTLY_NAT)
    fixed, hidden = replace(COMPLIANT, subnet_id="subnet-fixed"), replace(UNKNOWN, subnet_id="subnet-hidden")
    past = {
        FindingId(ACCOUNT, REGION, subnet_id, Reason.NAT_GATEWAY): FLAGGED.vpc_id
        for subnet_id in (FLAGGED.subnet_id, "subnet-worse", "subnet-fixed", "subnet-hidden", "subnet-gone")
    }
    rows = (FLAGGED, new, worse, fixed, hidden, replace(COMPLIANT, subnet_id="subnet-fine"))
    comparison = compare(Baseline(past), rows, {(ACCOUNT, REGION): {row.subnet_id for row in rows}})
    return result_of(*(replace(row, baseline=comparison.mark(row)) for row in rows), comparison=comparison)


def rendered(chosen: Format, result: Result, options: RenderOptions | None = None) -> str:
    """Return a result in a format."""
    return b"".join(output.rendered(result, chosen, options)).decode()
