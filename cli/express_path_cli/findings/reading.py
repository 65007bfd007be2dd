"""Make the result of a scan from a network that is read now, or from the JSON document of an earlier scan."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from express_path.adapters.memory import gc_paused
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path.errors import ApiError
from express_path_cli.findings.change import judge, verdicts_after
from express_path_cli.findings.hubs import hubs_of, selected_hubs
from express_path_cli.findings.options import ScanOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row, SetParameter, combined, rows_of
from express_path_cli.findings.saved import read_saved
from express_path_cli.findings.selection import Selection, evaluate_all, evaluators, tags_of
from express_path_cli.findings.settings import Settings
from express_path_cli.sources.change.change_file import ChangeFile
from express_path_cli.sources.network import NetworkViews, View
from express_path_cli.sources.source import Source
from express_path_cli.terminal.errors import Failure, OptionError, show_failures_and_notes
from express_path_cli.terminal.progress import Watch, watching


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of a scan, with a row for each selected subnet, and the options that it was made with."""

    result: Result
    options: ScanOptions

    @property
    def is_empty(self) -> bool:
        """Whether nothing could be read at all."""
        return not self.result.listed and bool(self.result.failures)


NO_CREDENTIALS = "there are no AWS credentials, so only what the plan contains is evaluated"


def read_now(
    options: ScanOptions,
    settings: Settings,
    change: ChangeFile | None = None,
    *,
    quiet: bool,
) -> Scan:
    """Read the network, evaluate the selected subnets, and report what could not be read or found.

    With a plan, the network is what it would be after the plan.
    """
    source, selection = options.source, options.selection
    parameters = settings.rule_parameters(settings.in_force)
    judged = None
    with gc_paused(), watching(quiet=quiet) as watch:
        network = _read_network(source, parameters, watch, change)
        if change:
            changed = change.lay(network.views if network.views or network.failures else None, watch)
            judged = judge(changed, parameters, selection)
            network = replace(network, views=changed.after, notes=[*network.notes, *changed.notes])
        views = network.views

        def verdicts_under(any_parameters: RuleParameters) -> Sequence[Verdict]:
            if change:
                return verdicts_after(changed, any_parameters, selection)
            return evaluate_all(views, any_parameters, selection)

        missing = _missing(selection, views, source.elsewhere)
        if judged:
            rows = list(judged.rows)
        else:
            rows = rows_of(verdicts_under(parameters), evaluators(views, parameters))
        rows, set_parameters = with_parameter_effects(rows, settings, verdicts_under)
        hubs = selected_hubs(hubs_of(views), rows, selection)
    result = Result(
        rows,
        datetime.now(UTC).replace(microsecond=0),
        [*network.failures, *missing],
        network.notes,
        parameters,
        filters=selection.options,
        listed={(view.account.id, view.region): frozenset(view.subnet_ids) for view in views},
        change=judged,
        account_names=network.account_names,
        hubs=hubs,
        set_parameters=set_parameters,
    )
    show_failures_and_notes(result.failures, result.notes, quiet=quiet)
    return Scan(result, options)


def _missing(selection: Selection, views: Sequence[View], elsewhere: str) -> list[Failure]:
    """Return the selected VPCs and tags that no network has. elsewhere: where else they may be."""
    vpc_ids = {vpc_id for view in views for vpc_id in view.tracer.snapshot.vpcs}
    missing = [*selection.missing_vpcs(vpc_ids, elsewhere)]
    if selection.tags and views:
        missing += selection.missing_tags([tags_of(view, subnet_id) for view in views for subnet_id in view.subnet_ids])
    return missing


def with_parameter_effects(
    rows: Sequence[Row], settings: Settings, verdicts_under: Callable[[RuleParameters], Iterable[Verdict]]
) -> tuple[list[Row], list[SetParameter]]:
    """Return the rows with the parameter of the configuration file that sets their compliance, and what each of these changes.

    verdicts_under: returns the verdicts on the same subnets under other parameters. Each parameter is looked at alone, so
    that none hides what another one does.
    """
    file_parameters = settings.in_force
    if not file_parameters:
        return list(rows), []

    def compliances(parameters: Iterable[SetParameter]) -> dict[tuple[str, str, str], Compliance]:
        by_subnet = {}
        for verdict in verdicts_under(settings.rule_parameters(parameters)):
            by_subnet[verdict.account_id, verdict.region, verdict.subnet_id] = verdict.compliance
        return by_subnet

    without_file = compliances(())
    changed_subnets = {}
    for parameter in file_parameters:
        alone = compliances([parameter])
        changed_subnets[parameter] = {key for key, compliance in alone.items() if compliance is not without_file[key]}
    marked = []
    for row in rows:
        if row.compliance is without_file[row.key]:
            marked.append(row)
        else:
            causes = [parameter for parameter, keys in changed_subnets.items() if row.key in keys]
            causes += file_parameters  # if only several together set it, the first of all is named
            marked.append(replace(row, set_by=causes[0]))
    return marked, [parameter._replace(subnets=len(keys)) for parameter, keys in changed_subnets.items()]


def _read_network(source: Source, parameters: RuleParameters, watch: Watch, change: ChangeFile | None) -> NetworkViews:
    """Read the network. A plan can be judged without one, such as where a pipeline has no credentials."""
    if change is None:
        return source.read(parameters, watch)
    if change.is_alone:
        return NetworkViews()
    try:
        return source.read(parameters, watch, for_plan=True)
    except ApiError as error:
        if error.code != "NoCredentialsError":
            raise
        return NetworkViews(notes=[NO_CREDENTIALS])


def read_earlier(file: Path, given: ScanOptions, *, quiet: bool) -> Scan:
    """Read the document of an earlier scan, and select from it; given: the options of this command.

    Raise OptionError if the file cannot be read, or for an option that only a scan of a network has.
    """
    _check(given)
    result, options = read_saved(file)
    selection = options.selection & given.selection
    options = replace(options, selection=selection, file=str(file))
    missing = (
        *given.selection.missing_vpcs({row.vpc_id for row in result.rows}, f"{file} lists all subnets with their VPCs"),
        *given.selection.missing_tags([row.tags for row in result.rows]),
    )
    rows = combined([row for row in result.rows if selection.selects(row.vpc_id, row.tags)])
    hubs = selected_hubs(result.hubs, rows, selection)
    result = replace(result, rows=rows, failures=[*result.failures, *missing], filters=selection.options, hubs=hubs)
    show_failures_and_notes(result.failures, result.notes, quiet=quiet)
    return Scan(result, options)


def _check(given: ScanOptions) -> None:
    """Raise OptionError for an option that decides what is read, or how it is judged."""
    source = given.source
    options: Mapping[str, object] = {
        "--from-dump": source.from_dump,
        "--example": source.example,
        "--aggregator": source.aggregator,
        "--region": source.live.regions,
        **dict.fromkeys(source.live.given(), True),
        "--parameter": given.parameters,
    }
    for option, value in options.items():
        if value:
            raise OptionError(
                f"--from and {option} cannot be used together",
                f"leave {option} out: the file says what was read, and how it was evaluated",
            )
