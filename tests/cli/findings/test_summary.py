"""The sentence that counts a result's subnets, including those that are dropped or excluded."""

import json
from dataclasses import replace
from xml.etree.ElementTree import fromstring

from express_path.domain.network.resources import TargetKind
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Compliance, Reason
from express_path_cli.findings.formats.html.page import separate_counts
from express_path_cli.findings.output import Format, rendered
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row
from express_path_cli.findings.summary import EXCLUDED_FIX, advice, closing, summary
from express_path_cli.findings.worklist import worklist
from tests.cli.findings.test_formats import MADE_AT
from tests.support.command import invoke
from tests.support.scenarios import dump_of

PATH = (Hop(TargetKind.NAT_GATEWAY, "nat-1", "0.0.0.0/0"),)
CROSSES = Row(
    *("111122223333", "us-east-1", "vpc-1", "subnet-1", "use1-az4", "rtb-1"),
    *(Compliance.NON_COMPLIANT, Reason.NAT_GATEWAY, "NAT_GATEWAY: it crosses a NAT", PATH),
)
DROPPED = replace(CROSSES, compliance=Compliance.NOT_APPLICABLE, reason=Reason.DROPPED, note="blackhole: delete it")
TAGGED = replace(DROPPED, reason=Reason.EXCLUDED, path=(), note="tag key=a on b on subnet-1")
NOT_LISTED = replace(TAGGED, note="vpcIds does not list its VPC")


def test_dropped_and_excluded_subnets_are_counted_separately() -> None:
    """The sentence names the tag, even one that looks like part of the sentence."""
    assert summary([CROSSES]) == "1 subnet: 1 NON_COMPLIANT, 0 COMPLIANT, 0 NOT_APPLICABLE"
    every = [CROSSES, DROPPED, TAGGED, TAGGED, NOT_LISTED]
    assert summary(every) == (
        "5 subnets: 1 NON_COMPLIANT, 0 COMPLIANT, 4 NOT_APPLICABLE "
        "(1 DROPPED; 3 EXCLUDED, 2 by tag key=a on b, 1 by the rule's scope or vpcIds)"
    )
    assert [paragraph.partition(":")[0] for paragraph in advice(every)] == ["DROPPED", "EXCLUDED"]
    assert advice([CROSSES]) == []


def test_the_report_counts_them_in_words() -> None:
    """The counts are above the report's numbers, because NOT_APPLICABLE alone would look harmless."""
    assert separate_counts(Result([CROSSES], MADE_AT)) == ""
    assert separate_counts(Result([DROPPED, TAGGED, TAGGED, NOT_LISTED], MADE_AT)) == (
        "1 subnet cannot reach S3 Express, because AWS drops the traffic. "
        "3 subnets are excluded, 2 by tag key=a on b and 1 by the rule's scope or vpcIds."
    )
    assert "1 subnet is excluded" in separate_counts(Result([TAGGED], MADE_AT))


def test_the_table_says_what_to_fix() -> None:
    """The fix of a drop is in its row, and exclusions have a general one."""
    text = b"".join(rendered(Result([DROPPED, CROSSES, TAGGED], MADE_AT), Format.TABLE)).decode()
    [row] = [line for line in text.splitlines() if "DROPPED  rtb-1" in line]
    assert row.endswith("0.0.0.0/0 -> nat-1  blackhole: delete it")
    assert f"EXCLUDED: {EXCLUDED_FIX}\n" in text


def test_the_closing_says_what_the_worklist_means() -> None:
    """It counts route tables and subnets, and never claims anything about verdicts that are not shown."""

    def said(verdicts: list[Row], evaluated: int | None = None) -> list[str]:
        return closing(verdicts, worklist(verdicts), evaluated)

    other_table = replace(CROSSES, route_table_id="rtb-2", reason=Reason.PARTLY_NAT)
    public = replace(CROSSES, reason=Reason.INTERNET_GATEWAY)
    unresolved = replace(DROPPED, reason=Reason.UNRESOLVED_EGRESS)
    assert said([CROSSES]) == ["1 of 1 subnet reaches S3 Express through a NAT (1 route table)."]
    assert said([CROSSES, CROSSES, other_table, DROPPED]) == [
        "3 of 4 subnets reach S3 Express through a NAT (2 route tables)."
    ]
    assert said([CROSSES, public], 9) == [
        "1 of 9 subnets reaches S3 Express through a NAT (1 route table).",
        "NON_COMPLIANT for another reason (INTERNET_GATEWAY): 1 of 9 subnets.",
    ]
    assert said([DROPPED, unresolved]) == [
        "No subnet is NON_COMPLIANT. The egress path of 1 of 2 subnets could not be determined."
    ]
    assert closing([DROPPED], worklist([DROPPED]), is_partial=True) == [
        "No subnet that could be read is NON_COMPLIANT."
    ]
    assert said([DROPPED], 9) == []
    assert said([]) == ["No subnet was found."]


def test_documents_for_other_tools_count_them() -> None:
    """JUnit has the counts in a suite's properties, SARIF in the run's."""
    result = Result([CROSSES, DROPPED, TAGGED], MADE_AT)
    suite = fromstring(b"".join(rendered(result, Format.JUNIT)).decode())[0]
    found = {element.get("name"): element.get("value") for element in suite.iter("property")}
    assert found == {"DROPPED": "1", "EXCLUDED by tag key=a on b": "1"}
    [run] = json.loads(b"".join(rendered(result, Format.SARIF)).decode())["runs"]
    assert run["properties"] == {"express-path/dropped": 1, "express-path/excluded": {"tag key=a on b": 1}}
    assert "properties" not in b"".join(rendered(Result([CROSSES], MADE_AT), Format.JUNIT)).decode()


def test_markdown_and_files_say_it_too() -> None:
    """Markdown has the fix of each drop and the counts."""
    dump = str(dump_of("endpoint-blackhole"))
    text = invoke(["scan", "--from-dump", dump, "--format", "markdown"]).stdout
    assert "(1 DROPPED)" in text
    assert "to fix: blackhole: its target no longer exists" in text
