"""The files of an ASFF export: one for each call of securityhub:BatchImportFindings."""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from express_path_cli.findings.formats.asff_findings import asff_list, asff_rows
from express_path_cli.findings.formats.json_rows import JsonRows
from express_path_cli.findings.result import Result

MAX_FINDINGS = 100
"""The most findings that one call imports
(https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_BatchImportFindings.html)."""


class Batch(NamedTuple):
    """The findings of one call: the file to write, its findings, and the command that imports them.

    All batches share rows, which makes the findings.
    """

    file: Path
    result: Result
    command: str
    rows: JsonRows

    def pieces(self) -> Iterator[str]:
        """Return the text of the file."""
        return asff_list(self.rows, self.result.verdicts)


def asff_batches(result: Result, file: Path) -> list[Batch]:
    """Return the batches of a result: at most 100 findings of one account and Region in each.

    A single batch is written to the file itself; several have a number before the suffix, such as findings-2.json.
    """
    groups = groupby(result.verdicts, key=lambda verdict: (verdict.account_id, verdict.region))
    by_place = [(region, list(verdicts)) for (_, region), verdicts in groups]
    batches = [
        (region, verdicts[start : start + MAX_FINDINGS])
        for region, verdicts in by_place
        for start in range(0, len(verdicts), MAX_FINDINGS)
    ]
    rows = asff_rows(result)
    if len(batches) == 1:
        return [Batch(file, result, _command(file, batches[0][0]), rows)]
    files = [file.with_name(f"{file.stem}-{number}{file.suffix}") for number in range(1, len(batches) + 1)]
    return [
        Batch(batch_file, replace(result, verdicts=verdicts), _command(batch_file, region), rows)
        for batch_file, (region, verdicts) in zip(files, batches, strict=True)
    ] or [Batch(file, result, "", rows)]


def _command(file: Path, region: str) -> str:
    findings = shlex.quote(f"file://{file}")
    return f"aws securityhub batch-import-findings --region {shlex.quote(region)} --findings {findings}"
