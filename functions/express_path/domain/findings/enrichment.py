"""What to add to the finding that Security Hub creates of AWS Config's result: the note, the severity, the workflow."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from express_path.domain.findings.asff import FIELD
from express_path.domain.findings.observations import Observation
from express_path.domain.findings.texts import PASSES, path_text, severity
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.evaluator import Verdict

AUTHOR = "express-path"
"""Who updates notes. A note of anybody else is kept."""
MAX_NOTE = 512
"""The longest note, in characters (https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_Note.html)."""
_MAX_VALUE = 1000
"""A user-defined field has fewer than 1,024 characters
(https://docs.aws.amazon.com/securityhub/latest/userguide/asff-top-level-attributes.html)."""
COMPLIANCE, TIMESTAMP, RESOLVED = FIELD + "compliance", FIELD + "orderingTimestamp", FIELD + "resolvedByRule"
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_NO_RESULT = "AWS Config has no result for this subnet anymore: it was deleted, or the rule does not apply to it."


@dataclass(frozen=True, slots=True)
class NativeFinding:
    """A finding that Security Hub created of AWS Config's result, with what customers and we added.

    status is its Compliance.Status, workflow its Workflow.Status. fields are its UserDefinedFields.
    """

    id: str
    product_arn: str
    subnet_id: str
    status: str
    workflow: str
    is_active: bool
    note_author: str
    fields: Mapping[str, str]

    @property
    def seen_at(self) -> datetime | None:
        """The ordering timestamp of what we added, None if we added nothing yet."""
        try:
            time = datetime.fromisoformat(self.fields.get(TIMESTAMP, ""))
            return time.astimezone(UTC) if time.tzinfo else None
        except (ValueError, OverflowError):
            return None

    @property
    def is_never_touched(self) -> bool:
        """Whether the finding is left alone: somebody suppressed it, or it is archived."""
        return not self.is_active or self.workflow == "SUPPRESSED"

    @property
    def is_settled(self) -> bool:
        """Whether what we added agrees with the finding's own status, so that there is nothing to find out."""
        if self.is_never_touched:
            return True
        if self.seen_at is None:
            return self.status == "PASSED"
        fails = self.fields.get(COMPLIANCE) == Compliance.NON_COMPLIANT
        return fails is (self.status == "FAILED") and _workflow(self, fails=fails) is None


@dataclass(frozen=True, slots=True)
class Update:
    """What BatchUpdateFindings sets in a finding; None leaves a value as it is. fields are all UserDefinedFields."""

    finding: NativeFinding
    fields: Mapping[str, str]
    note: str | None = None
    severity: str | None = None
    workflow: str | None = None


def enrichment(finding: NativeFinding, seen: Observation) -> Update | None:
    """Return how to update a finding after an observation; None if it is up to date, newer, or left alone."""
    known_at = finding.seen_at
    is_old = known_at is not None and seen.at < known_at
    is_unknown_pass = known_at is None and finding.status == "PASSED" and not seen.fails
    if finding.is_never_touched or is_old or is_unknown_pass:
        return None
    workflow = _workflow(finding, fails=seen.fails)
    described = _described(finding, seen)
    if described is None:
        return Update(finding, _marked(finding.fields, workflow), workflow=workflow) if workflow else None
    note = _note(seen) if finding.note_author in ("", AUTHOR) else None
    label = severity(seen.verdict) if seen.verdict else PASSES
    kept = {key: value for key, value in finding.fields.items() if not key.startswith(FIELD)}
    if RESOLVED in finding.fields and not seen.fails:
        kept[RESOLVED] = finding.fields[RESOLVED]
    return Update(finding, _marked({**kept, **described}, workflow), note, label, workflow)


def _workflow(finding: NativeFinding, *, fails: bool) -> str | None:
    """Return the workflow status to set; None if it stays. A finding that somebody else resolved is not reopened."""
    if not fails:
        return "RESOLVED" if finding.workflow in ("NEW", "NOTIFIED") else None
    return "NEW" if finding.workflow == "RESOLVED" and RESOLVED in finding.fields else None


def _marked(fields: Mapping[str, str], workflow: str | None) -> dict[str, str]:
    """Return the fields with the mark that says whether we resolved the finding."""
    marked = dict(fields)
    if workflow == "RESOLVED":
        marked[RESOLVED] = "true"
    elif workflow:
        marked.pop(RESOLVED, None)
    return marked


def _described(finding: NativeFinding, seen: Observation) -> dict[str, str] | None:
    """Return the fields that describe an observation; None if those of the finding say the same or more.

    Without a result, the time of the evaluation is not known, so the next event of the rule counts as newer.
    """
    known = {key: value for key, value in finding.fields.items() if key not in (TIMESTAMP, RESOLVED)}
    if seen.verdict is None:
        if known.get(COMPLIANCE, Compliance.NON_COMPLIANT) != Compliance.NON_COMPLIANT:
            return None
        at, described = finding.seen_at or _NEVER, {COMPLIANCE: Compliance.NOT_APPLICABLE.value}
    else:
        at = seen.at
        described = _fields(seen.verdict)
        if described.items() <= known.items() and not seen.is_complete:
            return None
        described |= dict(_details(seen, seen.verdict))
    ours = {key: value for key, value in known.items() if key.startswith(FIELD)}
    return None if ours == described else {**described, TIMESTAMP: at.isoformat(timespec="milliseconds")}


def _fields(verdict: Verdict) -> dict[str, str]:
    """Return what both AWS Config's results and the rule's events say."""
    return {
        COMPLIANCE: verdict.compliance.value,
        FIELD + "reason": verdict.reason.value,
        FIELD + "annotation": verdict.annotation,
    }


def _details(seen: Observation, verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Yield what is known in addition."""
    details = {"routeTableId": verdict.route_table_id or "", "path": path_text(verdict)}
    if seen.remedy:
        details |= {"remedy": seen.remedy.advice, "command": seen.remedy.command}
    for name, value in details.items():
        if value.strip():
            yield FIELD + name, value[:_MAX_VALUE]


def _note(seen: Observation) -> str:
    """Return the longest note that fits: the annotation, the path, and the remedy with its command."""
    verdict, remedy = seen.verdict, seen.remedy
    if verdict is None:
        return _NO_RESULT
    path = f" Path: {path_text(verdict)}." if len(verdict.path) > 1 else ""
    start = f"{verdict.annotation}."
    if remedy is None:
        return (start + path)[:MAX_NOTE]
    command = f" Command: {remedy.command}" if remedy.command else ""
    texts = (
        f"{start}{path} Remedy: {remedy.advice}{command}",
        f"{start} Remedy: {remedy.text}{command}",
        f"{start}{command or f' Remedy: {remedy.text}'}",
    )
    return next((text for text in texts if len(text) <= MAX_NOTE), f"{texts[-1][: MAX_NOTE - 3]}...")
