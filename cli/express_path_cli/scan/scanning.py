"""What `express-path scan` does: read, evaluate, compare, write, and return the exit status."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from express_path.adapters.memory import gc_paused
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.findings.baseline import Baseline, notes_on_scope
from express_path_cli.findings.formats.baseline_lines import comparison_text
from express_path_cli.findings.formats.registry import Format
from express_path_cli.findings.formats.terminal_table import TableOptions
from express_path_cli.findings.output import write_result
from express_path_cli.findings.resource_labels import notes_on_tags
from express_path_cli.findings.result import Result
from express_path_cli.findings.selection import NEW, Selection, evaluate_all, matches
from express_path_cli.sources.network import NetworkViews
from express_path_cli.sources.source import Source
from express_path_cli.terminal.errors import UNDETERMINED, show_failures_and_notes
from express_path_cli.terminal.progress import watching


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """What to scan and compare, which words for verdicts make it fail and are shown, and how a table shows them."""

    source: Source
    parameters: RuleParameters
    selection: Selection
    baseline: Baseline | None
    failing: frozenset[str]
    shown: frozenset[str]
    table: TableOptions


def scan_and_write(request: ScanRequest, output_format: Format, output: Path | None, *, quiet: bool) -> int:
    """Read, evaluate and write, and return the exit status."""
    network, verdicts = _read(request, quiet=quiet)
    result = Result(
        made_at=datetime.now(UTC),
        failures=network.failures,
        views=network.views,
        notes=network.notes,
        parameters=request.parameters,
        verdicts=[verdict for verdict in verdicts if matches(verdict, request.shown)],
        unlisted=[verdict for verdict in verdicts if not matches(verdict, request.shown)],
        tag_keys=request.table.tag_keys,
        filters=request.selection.options,
    )
    if request.baseline:
        result = _compared(result, request.baseline, quiet=quiet)
    if network.views or not network.failures:
        write_result(result, output_format, output, request.table, quiet=quiet)
    has_new = NEW in request.failing and result.comparison is not None and bool(result.comparison.new)
    fails = has_new or any(matches(verdict, request.failing) for verdict in verdicts)
    return UNDETERMINED if network.failures else fails


def _compared(result: Result, baseline: Baseline, *, quiet: bool) -> Result:
    """Return a result with its comparison, and report how the baseline's scan covered something else.

    The notes of the result also contain the numbers of the comparison, because the HTML page shows them.
    """
    comparison, notes = result.compared_with(baseline), notes_on_scope(baseline, result.as_point())
    show_failures_and_notes((), notes, quiet=quiet)
    return replace(result, comparison=comparison, notes=[*result.notes, *notes, comparison_text(comparison)])


def _read(request: ScanRequest, *, quiet: bool) -> tuple[NetworkViews, list[Verdict]]:
    """Read the network, evaluate the selected subnets, and report what could not be read or found."""
    source, selection = request.source, request.selection
    with gc_paused(), watching(quiet=quiet) as watch:
        network = source.read(request.parameters, watch)
        missing = (*selection.missing_vpcs(network.views, source.elsewhere), *selection.missing_tags(network.views))
        network = replace(network, failures=[*network.failures, *missing])
        verdicts = evaluate_all(network.views, request.parameters, selection)
    network = replace(network, notes=[*network.notes, *notes_on_tags(network.views, request.table.tag_keys)])
    show_failures_and_notes(network.failures, network.notes, quiet=quiet)
    return network, verdicts
