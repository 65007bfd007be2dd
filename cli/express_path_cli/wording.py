"""Names and texts that several formats share."""

from functools import cache

from express_path.domain.path.outcomes import Outcome
from express_path.domain.path.reasons import Reason
from express_path.domain.verdict.annotation import annotate
from express_path.domain.verdict.evaluator import Verdict

RULE_NAME = "s3express-no-nat-path"
TITLE = "S3 Express One Zone traffic of this subnet should not cross a NAT"


def path_text(verdict: Verdict) -> str:
    """Return the hops of a verdict in one line, such as 0.0.0.0/0 -> nat-1, or an empty text without hops."""
    return ", then ".join(f"{hop.destination} -> {hop.id}" for hop in verdict.path)


@cache
def reason_text(reason: Reason) -> str:
    """Return what a reason means, as part of a sentence."""
    return annotate(reason, Outcome(reason), None).partition(": ")[2]


def subnet_uid(verdict: Verdict) -> str:
    """Return an ID that is the same in every scan, so that findings are updated, not duplicated."""
    return f"{RULE_NAME}/{verdict.account_id}/{verdict.region}/{verdict.subnet_id}"
