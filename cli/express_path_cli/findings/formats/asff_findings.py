"""Verdicts as findings in the AWS Security Finding Format, for securityhub:BatchImportFindings.

https://docs.aws.amazon.com/securityhub/latest/userguide/securityhub-findings-format.html
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from express_path.domain.findings.asff import FIELD, asff_finding, not_blank
from express_path.domain.findings.texts import RULE_NAME
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.formats.findings import Finding
from express_path_cli.findings.formats.json_rows import JsonRows, json_array
from express_path_cli.findings.result import Result


def as_asff(result: Result) -> Iterator[str]:
    """Yield a list of findings, one for each subnet, with the same ids in every scan. One call imports up to 100."""
    yield from asff_list(asff_rows(result), result.verdicts)


def asff_rows(result: Result) -> JsonRows:
    """Return what makes the findings of a result."""
    return JsonRows(result, partial(_finding, stamp=result.made_at.strftime("%Y-%m-%dT%H:%M:%SZ")))


def asff_list(rows: JsonRows, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield a list of the findings of these verdicts."""
    yield from json_array(rows.of(verdicts))
    yield "\n"


def _finding(finding: Finding, stamp: str) -> dict[str, Any]:
    """Return the finding of a verdict, with the names of its resources, its tags, and its mark."""
    names = finding.names
    made = asff_finding(finding.verdict, finding.remedy, RULE_NAME, stamp)
    named = {"routeTableName": names.route_table, "vpcName": names.vpc, "baseline": finding.mark or ""}
    made["ProductFields"] |= {FIELD + key: value for key, value in not_blank(named).items()}
    if tags := not_blank({"Name": names.subnet, **finding.tags}):
        made["Resources"][0]["Tags"] = tags
    return made
