"""Verdicts as Compliance Findings of the Open Cybersecurity Schema Framework (https://schema.ocsf.io, class 2003)."""

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

from express_path.domain.findings.ocsf import CLOSE, CREATE, UPDATE, Activity, ocsf_finding
from express_path_cli.findings.baseline import Mark
from express_path_cli.findings.formats.findings import Finding
from express_path_cli.findings.formats.json_rows import JsonRows, json_array
from express_path_cli.findings.result import Result

_ACTIVITIES = {
    Mark.NEW: Activity(CREATE.id, CREATE.name, 1, "New"),
    Mark.UNCHANGED: UPDATE,
    Mark.UNKNOWN: UPDATE,
    Mark.FIXED: CLOSE,
}
"""What happened to a finding since the baseline. Without a baseline, it is created."""


def as_ocsf(result: Result) -> Iterator[str]:
    """Yield a list of findings, one for each subnet, with the cloud profile."""
    milliseconds = round(result.made_at.timestamp() * 1000)
    row = partial(_finding, milliseconds=milliseconds, product_version=version("express-path"))
    yield from json_array(JsonRows(result, row).of(result.verdicts))
    yield "\n"


def _finding(finding: Finding, milliseconds: int, product_version: str) -> dict[str, Any]:
    """Return the finding of a verdict, with the names and the selected tags of its subnet, if it has any."""
    activity = _ACTIVITIES.get(finding.mark, CREATE) if finding.mark else CREATE
    made = ocsf_finding(finding.verdict, finding.remedy, milliseconds, activity)
    made["metadata"]["product"]["version"] = product_version
    [resource] = made["resources"]
    resource["name"] = finding.names.subnet or finding.verdict.subnet_id
    resource["data"]["names"] = finding.names.fields()
    if finding.tags:
        resource["labels"] = [f"{key}:{value}" for key, value in finding.tags.items()]
    return made
