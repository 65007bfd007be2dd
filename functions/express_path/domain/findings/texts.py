"""Texts, severities, and IDs that findings in all formats share."""

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.evaluator import Verdict

TITLE = "S3 Express One Zone traffic of this subnet should not cross a NAT"
PASSES = "INFORMATIONAL"
SEVERITIES = {
    **dict.fromkeys(Reason, "MEDIUM"),
    Reason.LOSES_PATH: "HIGH",
    Reason.NAT_BEYOND_TRANSIT_GATEWAY: "HIGH",
    Reason.UNRESOLVED_EGRESS: "LOW",
    Reason.INTERNET_GATEWAY: "LOW",
}
"""The severity of a NON_COMPLIANT subnet by reason.

Without a path, workloads fail. Traffic beyond a transit gateway is charged twice and shares a NAT with other VPCs. The last two reasons are
NON_COMPLIANT only if a rule parameter says so.
"""


def severity(verdict: Verdict) -> str:
    """Return the label of a verdict's severity in the AWS Security Finding Format."""
    return SEVERITIES[verdict.reason] if verdict.compliance is Compliance.NON_COMPLIANT else PASSES


def path_text(verdict: Verdict) -> str:
    """Return the hops of a verdict in one line, such as 0.0.0.0/0 -> nat-1, or an empty text without hops."""
    return ", then ".join(f"{hop.destination} -> {hop.id}" for hop in verdict.path)


def finding_id(rule_name: str, account_id: str, region: str, subnet_id: str) -> str:
    """Return the ID of a subnet's finding. It never changes, so that findings are updated and not duplicated."""
    return f"{rule_name}/{account_id}/{region}/{subnet_id}"
