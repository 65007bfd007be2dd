"""The failure messages of steps, as Systems Manager stores them: what a plan function raised, and what AWS answered."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from express_path.domain.heal.failures import StepFailure, causes
from express_path.domain.heal.records import Blocker, Concern
from express_path.domain.heal.texts import failure_texts, one_line
from express_path.errors import ExpressPathError, RecordError
from express_path.fields import Description, json_text, member, nested, optional_free_text, rows

_CALL_FAILED = re.compile(r"An error occurred \((\w[\w.]*)\) when calling")
"""Where the message of a failed call has AWS's error code, for which Automation has no field. The code selects what to do
(https://github.com/boto/botocore/blob/develop/botocore/exceptions.py, ClientError.MSG_TEMPLATE)."""
_FRAME = re.compile(
    r"^Step fails when it is .*?\. |\.? Please refer to Automation Service Troubleshooting Guide .*$", re.DOTALL
)
"""What Automation writes around the error of a step (as people have reported it). Other texts stay as they are."""
_TRACEBACK = "Traceback (most recent call last)"
_ERROR, _TYPE = "errorMessage", "errorType"
"""The fields of an error of a function (https://docs.aws.amazon.com/lambda/latest/dg/python-exceptions.html)."""


class RaisedError(ExpressPathError):
    """What the plan function raises instead of an error of its own: the error's fields as JSON, which failure_of reads."""

    def __init__(self, error: ExpressPathError) -> None:
        """Keep the fields of an error."""
        super().__init__(json.dumps(error.fields()))


def failure_of(step: str, message: str) -> StepFailure:
    """Return why a step failed, from its failure message. A message of another form is the evidence as it is."""
    raised = _raised(message)  # before the frame is removed, because a field may have its words
    if raised is None:
        text = _FRAME.sub("", message).strip()
        # The last line of a script's traceback is the exception.
        if text.startswith(_TRACEBACK):
            text = text.splitlines()[-1]
        found = _CALL_FAILED.search(text)
        return StepFailure(step, found[1] if found else "", "", text)
    try:
        return _failure(step, json_text(raised, _ERROR, step))
    except RecordError:
        code, evidence = (optional_free_text(raised, name, step) for name in (_TYPE, _ERROR))
        return StepFailure(step, code, "", f"{code}: {evidence}" if code else evidence)


def _raised(text: str) -> Description | None:
    """Return the error of a function in a text; None if there is none."""
    start = text.find("{")
    try:
        found, _ = json.JSONDecoder().raw_decode(text[start:]) if start >= 0 else (None, 0)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not all(isinstance(found.get(name, ""), str) for name in (_ERROR, _TYPE)):
        return None
    return found if found.get(_ERROR) else None


def _failure(step: str, fields: Description) -> StepFailure:
    """Read the fields of an error. Raise RecordError."""
    patches = nested(fields, "patches", step)
    return StepFailure(
        step,
        optional_free_text(fields, "code", step),
        optional_free_text(fields, "resource", step),
        optional_free_text(fields, "evidence", step),
        optional_free_text(fields, "fix", step),
        tuple(_concern(row, step) for row in rows(fields, "blockers", step)),
        tuple(_concern(row, step) for row in rows(fields, "warnings", step)),
        {tool: optional_free_text(patches, tool, step) for tool in patches},
    )


def _concern(row: Description, step: str) -> Concern:
    return Concern(
        member(row, "code", step, Blocker),
        optional_free_text(row, "resource", step),
        optional_free_text(row, "evidence", step),
        optional_free_text(row, "fix", step),
    )


def failure_answer(run_id: str, failures: Sequence[StepFailure]) -> dict[str, Any]:
    """Return why a run failed, as JSON: each failure, and the message for people, with the patches of blocked heals."""
    explained = causes(failures)
    if not explained:
        message = f"run {run_id} failed: its steps say why (aws ssm get-automation-execution)"
        return {"failures": [], "message": message}
    patches = {tool: patch for failure in explained for tool, patch in failure.patches.items()}
    parts = [one_line(failure_texts(explained)), *(f"--- {tool}\n{patch}" for tool, patch in patches.items())]
    return {"failures": list(map(asdict, explained)), "message": "\n".join(parts)}
