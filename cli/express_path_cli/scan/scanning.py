"""What `express-path scan` does with a scan: check, compare, write, and return the exit status."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from express_path.domain.path.reasons import Reason
from express_path_cli.aws.account_options import ManyAccounts
from express_path_cli.findings.baseline import Baseline, comparison_text, notes_on_scope, read_baseline
from express_path_cli.findings.formats import WITH_IGNORED, Format
from express_path_cli.findings.grouping import Grouping, parse_grouping
from express_path_cli.findings.options import RenderOptions, ScanOptions
from express_path_cli.findings.output import format_of, write_result
from express_path_cli.findings.reading import Scan, read_earlier, read_now
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import combined
from express_path_cli.findings.selection import Selection, matches
from express_path_cli.findings.settings import Settings, read_settings
from express_path_cli.findings.split import INDEX, check_folder, write_split
from express_path_cli.findings.words import ALL, NEVER, NEW, WORDS, parse_words
from express_path_cli.scan.options import ChangeOptions, OutputOptions, SourceOptions, VerdictOptions
from express_path_cli.sources.change.change_file import ChangeFile
from express_path_cli.sources.source import Source
from express_path_cli.terminal.errors import UNDETERMINED, OptionError, say, show_failures_and_notes
from express_path_cli.terminal.files import STDOUT, check_output


@dataclass(frozen=True, slots=True)
class ScanOutput:
    """What a scan is compared with, which compliances and reasons make it fail and are shown, and how it is shown.

    lists_subnets: the subnets are shown, not the worklist. lists_all: also those that are not new, or that a plan does not change.
    split_by: what the output is split by into a folder with files for each group, if it is.
    """

    baseline: Baseline | None
    failing: frozenset[str]
    shown: frozenset[str]
    lists_subnets: bool
    lists_all: bool
    split_by: Grouping | None
    settings: Settings


def run_scan(
    source_options: SourceOptions,
    change: ChangeOptions,
    accounts: ManyAccounts,
    verdict_options: VerdictOptions,
    output_options: OutputOptions,
) -> int:
    """Make a scan or read an earlier one, write it, and return the exit status. Raise OptionError."""
    change.check()
    output, quiet = output_options.output, output_options.quiet
    live = accounts.live
    change_file = _change_file(change, live.regions)
    reads_live = not (source_options.from_dump or source_options.example or source_options.aggregator)
    has_regions = live.regions or live.all_regions
    if change_file and reads_live and not has_regions:
        live = replace(live, regions=change_file.regions)
    network = Source(source_options.from_dump, source_options.aggregator, live, source_options.example)
    settings = read_settings(verdict_options.parameter)
    if source_options.from_scan:  # its file says how it was judged
        settings = replace(settings, parameters=())
    show_failures_and_notes((), settings.file_notes, quiet=quiet)
    grouping = parse_grouping(output_options.split_by) if output_options.split_by else None
    if grouping:
        check_split(
            {"--plan": change.plan, "--format": output_options.output_format, "--show": output_options.show}, output
        )
        output_format = Format.MARKDOWN
    else:
        check_output(output)
        output_format = output_options.output_format or format_of(output)
    # A command to run next reads the file itself, so that what the file sets is still counted.
    parameters = tuple(f"{name}={value}" for name, value in settings.given.items())
    selection = selected(verdict_options.vpc, verdict_options.tag)
    scan_options = ScanOptions(network, parameters, selection, is_plan=bool(change.plan))
    words_shown = parse_words("--show", output_options.show or (), NEW, ALL)
    scan_output = ScanOutput(
        read_baseline(verdict_options.baseline) if verdict_options.baseline else None,
        failing_words(verdict_options.fail_on),
        (words_shown - {ALL}) or frozenset(WORDS),
        bool(output_options.show),
        ALL in words_shown,
        grouping,
        settings,
    )
    check_new(scan_output, is_compared=bool(verdict_options.baseline or source_options.from_scan or change.plan))
    if source_options.from_scan:
        scan = read_earlier(source_options.from_scan, scan_options, quiet=quiet)
        check_earlier(scan.result, scan_output)
    else:
        scan = read_now(scan_options, settings, change_file, quiet=quiet)
    return write_scan(scan, scan_output, output_format, output, quiet=quiet)


def _change_file(change: ChangeOptions, regions: tuple[str, ...]) -> ChangeFile | None:
    if change.plan is None:
        return None
    program = None if change.no_terraform else change.terraform or ""
    return ChangeFile(change.plan, regions, change.source, program, is_alone=change.plan_only)


def write_scan(scan: Scan, scan_output: ScanOutput, output_format: Format, output: Path | None, *, quiet: bool) -> int:
    """Compare and write a scan, and return the exit status."""
    applied = scan_output.settings.applied(scan.result.rows, scan.result.set_parameters)
    show_failures_and_notes((), applied.notes[len(scan_output.settings.file_notes) :], quiet=quiet)
    names = {**scan.result.account_names, **scan_output.settings.account_names}
    result = replace(scan.result, rows=applied.rows, settings=applied.notes, account_names=names)
    # The network without a plan is what the plan is compared with.
    baseline = scan_output.baseline or (result.change.before if result.change else None)
    if baseline:
        result = _compared(result, baseline, quiet=quiet)
    with_ignored = output_format in WITH_IGNORED
    # A JSON document is what all other formats are made from, so it lists what is not new, too.
    only_news = result.is_about_news and output_format is not Format.JSON and not scan_output.lists_all
    kept = [row for row in result.rows if (with_ignored or not row.ignored) and (row.is_news or not only_news)]
    kept = kept if len(kept) == len(result.rows) else combined(kept)  # a shared change is only for those left
    shown = [row for row in kept if matches(row, scan_output.shown) or row.baseline in scan_output.shown]
    listed = {row.key for row in shown}
    unlisted = [row for row in result.rows if row.key not in listed]
    result = replace(result, rows=shown, unlisted=unlisted)
    if scan_output.split_by and output and not scan.is_empty:
        write_split(result, scan_output.split_by, output)
        if not quiet:
            say(f"wrote {output / INDEX}: {result.summary}")
    elif not scan.is_empty:
        rendering = RenderOptions(scan_output.lists_subnets, scan.options)
        write_result(result, output_format, output, rendering, quiet=quiet)
    fails = any(
        # One of the words is "new".
        not row.ignored and (matches(row, scan_output.failing) or row.baseline in scan_output.failing)
        for row in (*result.rows, *result.unlisted)
    )
    is_undecided = result.change and result.change.undecided and Reason.UNRESOLVED_EGRESS in scan_output.failing
    return UNDETERMINED if result.failures else int(fails or bool(is_undecided))


def _compared(result: Result, baseline: Baseline, *, quiet: bool) -> Result:
    """Return a result with its comparison, and report how the baseline's scan covered something else.

    The notes of the result also contain the numbers of the comparison, because the HTML page shows them.
    """
    compared, notes = result.compared_with(baseline), notes_on_scope(baseline, result.coverage)
    show_failures_and_notes((), notes, quiet=quiet)
    counts = [comparison_text(compared.comparison)] if compared.comparison else []
    return replace(compared, notes=[*result.notes, *notes, *counts])


def check_split(given: Mapping[str, object], output: Path | None) -> None:
    """Raise OptionError for an option that a split does not have, or if there is no folder to write to."""
    for option, is_given in given.items():
        if is_given:
            raise OptionError(f"--split-by and {option} cannot be used together", f"leave {option} out")
    if output is None or output == STDOUT:
        raise OptionError("--split-by writes several files", "add --output with a new folder")
    check_folder(output)


def check_earlier(earlier: Result, scan_output: ScanOutput) -> None:
    """Raise OptionError if an earlier scan has a baseline and gets another one, or has none and needs one."""
    if scan_output.split_by and earlier.change:
        raise OptionError("--split-by and the scan of a plan cannot be used together", "leave --split-by out")
    if earlier.comparison and scan_output.baseline:
        raise OptionError(
            "--from and --baseline: the earlier scan was compared with a baseline already", "leave --baseline out"
        )
    check_new(scan_output, is_compared=bool(earlier.comparison or scan_output.baseline))


def check_new(scan_output: ScanOutput, *, is_compared: bool) -> None:
    """Raise OptionError if new findings are asked for and nothing says which are new."""
    if NEW in scan_output.failing | scan_output.shown and not is_compared:
        option = "--fail-on" if NEW in scan_output.failing else "--show"
        raise OptionError(f"{option} new needs a baseline", "add --baseline FILE, the JSON output of an earlier scan")


def selected(vpc_ids: list[str] | None, tags: list[str] | None) -> Selection:
    """Return the selection of VPCs and tags. Raise OptionError for a tag without a key."""
    for tag in tags or ():
        if tag.startswith("="):
            raise OptionError(f"--tag {tag} has no key", "use KEY or KEY=VALUE, such as team=data")
    return Selection(frozenset(vpc_ids or ()), tuple(tags or ()))


def failing_words(given: list[str] | None) -> frozenset[str]:
    """Return the words that make a scan fail. Raise OptionError for `never` beside another one."""
    words = parse_words("--fail-on", given or ["NON_COMPLIANT"], NEW, NEVER)
    if NEVER in words and len(words) > 1:
        raise OptionError("--fail-on never and another --fail-on cannot be used together", "leave one of them out")
    return words
