"""Names and texts that several formats share."""

from functools import cache

from express_path.domain.findings.texts import RULE_NAME, finding_id
from express_path.domain.path.outcomes import Outcome
from express_path.domain.path.reasons import Reason
from express_path.domain.verdict.annotations import annotate
from express_path.domain.verdict.evaluator import Verdict


@cache
def reason_text(reason: Reason) -> str:
    """Return what a reason means, as part of a sentence."""
    return annotate(reason, Outcome(reason), None).partition(": ")[2]


def subnet_uid(verdict: Verdict) -> str:
    """Return an ID that is the same in every scan, so that findings are updated, not duplicated."""
    return finding_id(RULE_NAME, verdict.account_id, verdict.region, verdict.subnet_id)
