"""Sentences about a result: its counts, what the worklist means, and what to do about subnets that are counted separately."""

from dataclasses import replace

import pytest

from express_path.domain.path.reasons import Reason
from express_path.domain.verdict.evaluator import VPC_IDS
from express_path_cli.findings.row import Row
from express_path_cli.findings.summary import advice, closing, dropped, exclusions, summary
from express_path_cli.findings.worklist import worklist
from tests.cli.findings.results import COMPLIANT, DROPPED, EXCLUDED, FLAGGED, UNKNOWN

NOT_LISTED = replace(EXCLUDED, note="vpcIds does not list its VPC", excluded_by=VPC_IDS)


def test_dropped_and_excluded_subnets_are_counted_separately() -> None:
    """The sentence names the tag, even one that looks like part of the sentence, and never hides unlisted subnets."""
    assert summary([]) == "0 subnets: 0 NON_COMPLIANT, 0 COMPLIANT, 0 NOT_APPLICABLE"
    assert summary([FLAGGED]) == "1 subnet: 1 NON_COMPLIANT, 0 COMPLIANT, 0 NOT_APPLICABLE"
    assert summary([FLAGGED], 2_000).startswith("1 of 2,000 subnets shown: 1 NON_COMPLIANT, ")
    every = [FLAGGED, DROPPED, EXCLUDED, EXCLUDED, NOT_LISTED]
    assert summary(every) == (
        "5 subnets: 1 NON_COMPLIANT, 0 COMPLIANT, 4 NOT_APPLICABLE: "
        "3 EXCLUDED (2 by tag key=a on b, 1 by the rule's scope or vpcIds), 1 DROPPED"
    )
    assert (dropped(every), exclusions(every)) == (1, {"tag key=a on b": 2, "the rule's scope or vpcIds": 1})
    assert [paragraph.partition(":")[0] for paragraph in advice(every)] == ["DROPPED", "EXCLUDED"]
    assert advice([FLAGGED]) == []


OTHER_TABLE = replace(FLAGGED, route_table_id="rtb-2", reason=Reason.PARTLY_NAT)
PUBLIC = replace(FLAGGED, reason=Reason.INTERNET_GATEWAY)


@pytest.mark.parametrize(
    ("rows", "evaluated", "is_partial", "sentences"),
    [
        ([FLAGGED], 1, False, ["1 of 1 subnet reaches S3 Express through a NAT (1 route table)."]),
        (
            [FLAGGED, FLAGGED, OTHER_TABLE, DROPPED],
            4,
            False,
            ["3 of 4 subnets reach S3 Express through a NAT (2 route tables)."],
        ),
        (
            [FLAGGED, PUBLIC],
            9,
            False,
            [
                "1 of 9 subnets reaches S3 Express through a NAT (1 route table).",
                "NON_COMPLIANT for another reason (INTERNET_GATEWAY): 1 of 9 subnets.",
            ],
        ),
        (
            [DROPPED, UNKNOWN],
            2,
            False,
            [
                "No path was evaluated: every subnet is NOT_APPLICABLE. The egress path of 1 of 2 subnets could not be determined."
            ],
        ),
        ([COMPLIANT], 1, True, ["No subnet that could be read is NON_COMPLIANT."]),
        ([DROPPED], 9, False, []),
        ([], 0, False, ["No subnet was found."]),
    ],
)
def test_the_closing_says_what_the_worklist_means(
    rows: list[Row], evaluated: int, sentences: list[str], *, is_partial: bool
) -> None:
    """It counts route tables and subnets, and never claims anything about verdicts that are not shown."""
    assert closing(rows, worklist(rows), evaluated, is_partial=is_partial) == sentences
