"""Rows as Compliance Findings of the Open Cybersecurity Schema Framework (https://schema.ocsf.io, class 2003)."""

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

from express_path.domain.findings.ocsf import CLOSE, CREATE, UPDATE, Activity, ocsf_finding
from express_path_cli.findings.formats.json import document
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Mark, Row

_ACTIVITIES = {
    Mark.NEW: Activity(CREATE.id, CREATE.name, 1, "New"),
    Mark.UNCHANGED: UPDATE,
    Mark.UNKNOWN: UPDATE,
    Mark.FIXED: CLOSE,
}
"""What happened to a finding since the baseline. Without a baseline, it is created."""


def as_ocsf(result: Result) -> Iterator[bytes]:
    """Yield a list of findings, one for each subnet, with the cloud profile."""
    milliseconds, product_version = round(result.made_at.timestamp() * 1000), version("express-path")
    yield from document(_finding(row, result.tag_keys, milliseconds, product_version) for row in result.rows)


def _finding(row: Row, tag_keys: Sequence[str], milliseconds: int, product_version: str) -> dict[str, Any]:
    """Return the finding of a row, with the names and the selected tags of its subnet, if it has any."""
    activity = _ACTIVITIES.get(row.baseline, CREATE) if row.baseline else CREATE
    made = ocsf_finding(row, row.remedy, row.selected_tags(tag_keys), milliseconds, activity)
    made["metadata"]["product"]["version"] = product_version
    [resource] = made["resources"]
    resource["name"] = row.subnet_name or row.subnet_id
    resource["data"]["names"] = row.names()
    return made
