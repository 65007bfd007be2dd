"""express-path explain: a subnet's path, route by route, and its heal; or what a reason means."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from express_path.adapters.heal_answers import plan_fields
from express_path.adapters.serialization import capacity_answer, verdict_answer
from express_path.domain.heal.records import Blocker, Concern, PlanAction
from express_path.domain.path.reasons import Reason
from express_path.domain.remedy.texts import PAGES, Remedy, general_remedy
from express_path.domain.verdict.annotations import MEANINGS
from express_path.domain.verdict.capacity import Capacity
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.aws import options
from express_path_cli.aws.account_options import OneAccount, taking
from express_path_cli.aws.options import LiveOptions, TextFormat
from express_path_cli.explain.explanation import CandidateRoute, Explanation, RouteSelection, explain_named, route_text
from express_path_cli.findings.formats.text import STYLES
from express_path_cli.findings.row import Row, worst_first
from express_path_cli.findings.saved import read_saved
from express_path_cli.findings.settings import read_settings
from express_path_cli.sources.source import Source
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import UNDETERMINED, OptionError, show_failures_and_notes
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.tables import Terminal, printable
from express_path_cli.terminal.texts import count_text

EXAMPLES = """
express-path explain subnet-0a1b2c3d4e5f60718  # live, in the Region of your AWS settings
express-path explain data-private  # what has this Name tag: a subnet, a route table, or a VPC
express-path explain rtb-0a1b2c3d4e5f60718 --from-dump dump  # every path of the subnets of a route table, without AWS
express-path explain subnet-0a1b2c3d4e5f60718 --from scan.json  # what an earlier scan found, without AWS
express-path explain NAT_GATEWAY  # what a reason means, and what to do about it
"""

UNWRAPPED = 10_000
"""The width of the text in a pipe or a file, in columns: more than the longest line, so that none wraps."""


Named = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        autocompletion=lambda incomplete: [reason for reason in Reason if reason.startswith(incomplete.upper())],
        help="The ID or the Name tag of a subnet, route table, or VPC; or a reason, such as NAT_GATEWAY.",
    ),
]


@taking(account=OneAccount)
def explain(
    *,
    named: Named,
    from_scan: options.FromScan = None,
    from_dump: options.FromDump = None,
    example: options.Example = False,
    account: OneAccount,
    external_id: options.ExternalId = "",
    parameter: options.Parameters = None,
    form: options.TextOrJson = TextFormat.TEXT,
) -> None:
    """Show a subnet's path hop by hop, and what a heal would change.

    For each route table on the path, it lists every route that matches S3 Express addresses, and why the route wins or
    loses. It shows the change that a heal would make, for CloudFormation, Terraform, and the AWS CLI, and everything
    that blocks the heal. It changes nothing. For a route table or a VPC, it explains each different path of its subnets,
    the worst one first. For a reason, it says what the reason means.

    Exit status: 0 explained, 2 something could not be read; standard error names it, and the rest is still explained.
    """
    settings = read_settings(parameter)
    reasons = [f"{entry} is set: {entry.reason}" for entry in settings.in_force]
    show_failures_and_notes((), [*settings.file_notes, *reasons, *settings.not_in_force()], quiet=False)
    parameters = settings.rule_parameters(settings.in_force)
    if named.upper() in Reason.__members__:
        _show_reason(Reason(named.upper()), parameters, form)
        return
    if from_scan:
        for option, value in {
            "--from-dump": from_dump,
            "--example": example,
            "--region": account.region,
            "--profile": account.profile,
        }.items():
            if value:
                raise OptionError(f"--from and {option} cannot be used together", f"leave {option} out")
        _explain_saved(from_scan, named, form)
        return
    live = LiveOptions((account.region,) if account.region else (), profile=account.profile, external_id=external_id)
    explained = explain_named(named, Source(from_dump, live=live, example=example), parameters)
    if form is TextFormat.JSON:
        echo(as_explanation_json(explained.explanations), nl=False)
    else:
        _print_explanations(explained.explanations)
    show_failures_and_notes(explained.failures, quiet=True)
    if explained.failures:
        raise typer.Exit(UNDETERMINED)


def _explain_saved(file: Path, named: str, form: TextFormat) -> None:
    """Show what the file of a scan has about the subnets with this ID or name, or of this route table or VPC.

    Raise OptionError if the file cannot be read, or has none.
    """
    result, _ = read_saved(file)
    texts = ("subnet_id", "route_table_id", "vpc_id", "subnet_name", "route_table_name", "vpc_name", "address")
    rows = [row for row in result.rows if named in (getattr(row, text) for text in texts)]
    if not rows:
        raise OptionError(f"{file} has no subnet, route table, or VPC that is named {named}", "check the name")
    if form is TextFormat.JSON:
        fields = [_row_fields(row) for row in rows]
        echo(json_document(SCHEMA_VERSION, fields[0] if len(fields) == 1 else {"explanations": fields}), nl=False)
        return
    console, shown = _console(), worst_first(rows)
    for row in shown[:MOST_SUBNETS]:
        console.print(Group(*_verdict(row, ()), *_heading("Path")))
        for path in (row.path, *(traffic_path.hops for traffic_path in row.other_paths)):
            console.print(_line(escape(" -> ".join(f"{hop.destination} {hop.id}" for hop in path) or "none"), 2))
        console.print(Group(*_remedy(row), *_code(row)), soft_wrap=True)
        console.print()
    if len(shown) > MOST_SUBNETS:
        console.print(_line(f"{count_text(len(shown) - MOST_SUBNETS, 'more subnet')}; name one of them to see it."))
    console.print(
        _line(
            f"From the scan of {result.made_at:%Y-%m-%d %H:%M} UTC. Without --from, each route and the plan of a heal follow."
        )
    )


MOST_SUBNETS = 10
"""How many subnets of a saved scan are shown."""


def _print_explanations(explanations: Sequence[Explanation]) -> None:
    console = _console()
    for number, explanation in enumerate(explanations):
        if number:
            console.print(Text("\n" + "-" * min(console.width, 80) + "\n", "dim"))
        console.print(as_explanation(explanation))
        console.print(as_patches(explanation), soft_wrap=True)


def _show_reason(reason: Reason, parameters: RuleParameters, form: TextFormat) -> None:
    """Say what a reason means, and what to do about subnets that have it."""
    compliance, remedy = parameters.compliance_of(reason), general_remedy(reason)
    if form is TextFormat.JSON:
        document = {
            "reason": reason,
            "compliance": compliance,
            "meaning": MEANINGS[reason],
            "remedy": remedy,
            "url": PAGES[reason],
        }
        echo(json_document(SCHEMA_VERSION, document), nl=False)
        return
    console = _console()
    console.print(_line(f"[bold]{reason}[/bold]  [{STYLES[compliance]}]{compliance}[/]"))
    console.print(_line(f"{MEANINGS[reason][0].upper()}{MEANINGS[reason][1:]}."))
    console.print(*_heading("What to do"), _line(remedy or "Nothing.", 2), sep="\n")
    # Only a change takes a path away.
    plan = " --plan plan.json" if reason is Reason.LOSES_PATH else ""
    for title, text in {
        "Read": PAGES[reason],
        "Find these subnets": f"express-path scan{plan} --show {reason}",
    }.items():
        console.print(*_heading(title), sep="\n")
        console.print(Text(f"  {text}"), soft_wrap=True)  # to be copied


def _console() -> Terminal:
    """Return a console in the width of the terminal, or without wrapping for a pipe or a file."""
    console = Terminal()
    if not console.is_terminal:
        console.width = UNWRAPPED
    return console


SCHEMA_VERSION = 1


def as_explanation_json(explanations: Sequence[Explanation]) -> str:
    """Return the one explanation, or a list of several."""
    fields = [_explanation_fields(explanation) for explanation in explanations]
    return json_document(SCHEMA_VERSION, fields[0] if len(fields) == 1 else {"explanations": fields})


def _explanation_fields(explanation: Explanation) -> dict[str, Any]:
    """Return verdict, competing routes, capacity and plan; the plan has the form that the runbook gets."""
    return {
        **_row_fields(explanation.row),
        "isMainRouteTable": explanation.is_main,
        "contests": [_route_selection(selection) for selection in explanation.route_selections],
        "capacity": [capacity_answer(capacity) for capacity in explanation.capacities],
        "plan": plan_fields(explanation.local_plan.plan),
        "unchecked": list(explanation.local_plan.unchecked),
        "notes": list(explanation.notes),
        "alike": list(explanation.alike),
    }


def _row_fields(row: Row) -> dict[str, Any]:
    """Return the verdict, and what to do about it."""
    return {
        "accountId": row.account_id,
        "region": row.region,
        "vpcId": row.vpc_id,
        **verdict_answer(row),
        "names": row.names(),
        "advice": row.remedy.advice if row.remedy else "",
        "remedy": _remedy_fields(row.remedy) if row.remedy else None,
    }


def _remedy_fields(remedy: Remedy) -> dict[str, Any]:
    return {
        "text": remedy.text,
        "command": remedy.command,
        "url": remedy.url,
        "patches": dict(remedy.patches),
        "note": remedy.note,
    }


def _route_selection(selection: RouteSelection) -> dict[str, Any]:
    return {
        "routeTableId": selection.table.id,
        "blocks": [str(block) for block in selection.blocks],
        "routes": [_candidate_fields(candidate) for candidate in selection.candidates],
        "otherRoutes": selection.other_routes,
    }


def _candidate_fields(candidate: CandidateRoute) -> dict[str, Any]:
    return {
        "destination": str(candidate.route.destination),
        "target": candidate.route.target_id,
        "state": candidate.route.state,
        "wins": candidate.wins,
        "mayWin": candidate.may_win,
        "why": candidate.why,
    }


_TOOL_NAMES = {"cloudFormation": "CloudFormation", "terraform": "Terraform", "cli": "AWS CLI"}
_SKIPS_ENDPOINTS = "without gateway endpoints: the traffic has already crossed a possible NAT instance"
_ACTIONS = {
    PlanAction.NOTHING_TO_DO: "Nothing to heal: the path to S3 Express does not cross a NAT.",
    PlanAction.ASSOCIATE: "A heal would associate the route table with the VPC's gateway endpoint.",
    PlanAction.CREATE_AND_ASSOCIATE: (
        "A heal would create a gateway endpoint, which is free of charge, and associate the route table with it."
    ),
    PlanAction.BLOCKED: "A heal is blocked.",
}


def as_explanation(explanation: Explanation) -> RenderableType:
    """Return the text without patches; long lines wrap, nothing is cut."""
    return Group(
        *_verdict(explanation.row, explanation.alike),
        *_path(explanation),
        *_routes(explanation),
        *_remedy(explanation.row),
        *_healing(explanation),
        *_notes(explanation),
    )


def as_patches(explanation: Explanation) -> RenderableType:
    """Return the command of the remedy and the patches of a heal. Print them without wrapping: they are copied."""
    remedy, patches = explanation.row.remedy, explanation.local_plan.plan.patches
    command = [Text(), Text(remedy.command)] if remedy and remedy.command and not patches else []
    sections = (
        [Text(), Text.from_markup(f"[bold]Patch for {_TOOL_NAMES[tool]}[/bold]"), Text(patch.rstrip("\n"))]
        for tool, patch in patches.items()
    )
    return Group(*command, *(line for section in sections for line in section))


def _line(markup: str, indent: int = 0) -> RenderableType:
    return Padding(Text.from_markup(markup), (0, 0, 0, indent), expand=False)


def _remedy(row: Row) -> Iterator[RenderableType]:
    """Yield what to do. The command is in the patches, too, which are not wrapped."""
    if row.remedy:
        yield from _heading("What to do")
        yield _line(escape(row.remedy.advice), 2)


def _code(row: Row) -> Iterator[RenderableType]:
    """Yield the command of a saved scan, or the patch for the tool that owns the resource."""
    patches = row.remedy.patches.values() if row.remedy else ()
    for text in [row.remedy.command] if row.remedy and row.remedy.command else patches:
        yield from (Text(), Text(text.rstrip("\n")))


def _heading(title: str) -> Iterator[RenderableType]:
    yield from (Text(), _line(f"[bold]{title}[/bold]"))


def _verdict(row: Row, alike: Sequence[str]) -> Iterator[RenderableType]:
    subnet = f"[bold]{escape(row.subnet_id)}[/bold]{escape(_name(row.subnet_name))}"
    yield _line(f"{subnet}  {escape(row.availability_zone_id or '')}")
    yield _line(escape(f"{row.vpc_id}{_name(row.vpc_name)}  {row.region}  account {row.account_id}"))
    yield _line(f"[{STYLES[row.compliance]}]{row.compliance}[/]  {row.reason}")
    yield _line(escape(row.annotation))
    if alike:
        yield _line(f"[dim]The same path: {escape(', '.join(alike))}[/dim]")


def _path(explanation: Explanation) -> Iterator[RenderableType]:
    yield from _heading("Path")
    yield _line(escape(_table_text(explanation)), 2)
    capacities = {capacity.hop_id: capacity for capacity in explanation.capacities}
    for number, hop in enumerate(explanation.row.path, 1):
        label = _capacity_text(capacities[hop.id]) if hop.id in capacities else hop.kind.label
        yield _line(
            f"{number}. {escape(hop.destination)} -> [bold]{escape(hop.id)}[/bold]  [dim]{escape(label)}[/dim]", 2
        )


def _table_text(explanation: Explanation) -> str:
    verdict = explanation.row
    if verdict.route_table_id is None:
        return "the subnet's route table is unknown"
    association = f"the main route table of {verdict.vpc_id}" if explanation.is_main else "explicitly associated"
    return f"route table {verdict.route_table_id}{_name(verdict.route_table_name)}, {association}"


def _name(name: str) -> str:
    """Return a name as it follows an ID."""
    return f" ({printable(name)})" if name else ""


def _capacity_text(capacity: Capacity) -> str:
    if capacity.baseline_gbps is None:
        return capacity.name
    peak = f" to {capacity.peak_gbps:g}" if capacity.peak_gbps else ""
    return f"{capacity.name}, carries {capacity.baseline_gbps:g}{peak} Gbit/s"


def _routes(explanation: Explanation) -> Iterator[RenderableType]:
    if explanation.route_selections:
        yield from _heading("Routes that match S3 Express addresses")
    for selection in explanation.route_selections:
        yield _line(f"in [bold]{escape(selection.table.id)}[/bold] for {_blocks(selection)}", 2)
        if selection.skips_gateway_endpoints:
            yield _line(f"[dim]{_SKIPS_ENDPOINTS}[/dim]", 4)
        for candidate in selection.candidates:
            yield _line(_candidate_line(candidate), 4)
        if not selection.candidates:
            yield _line("none", 4)
        if selection.other_routes:
            yield _line(f"[dim]{_other_routes(selection.other_routes)}[/dim]", 4)


def _other_routes(number: int) -> str:
    return "1 other route does not match" if number == 1 else f"{number} other routes do not match"


def _blocks(selection: RouteSelection) -> str:
    return ", ".join(map(str, selection.blocks))


def _candidate_line(candidate: CandidateRoute) -> str:
    route = escape(route_text(candidate.route))
    if candidate.wins:
        return f"[green]wins[/green]  [bold]{route}[/bold]  {escape(candidate.why)}"
    if candidate.may_win:
        return f"[yellow]may win[/yellow]  [bold]{route}[/bold]  {escape(candidate.why)}"
    return f"[dim]loses  {route}  {escape(candidate.why)}[/dim]"


def _healing(explanation: Explanation) -> Iterator[RenderableType]:
    plan, unchecked = explanation.local_plan.plan, explanation.local_plan.unchecked
    yield from _heading("Healing")
    yield _line(escape(_action_text(explanation)), 2)
    for label, style, findings in (("blocker", "red", plan.blockers), ("warning", "yellow", plan.warnings)):
        for finding in dict.fromkeys(findings):
            yield from _finding(label, style, finding)
    if unchecked:
        yield _line(f"[dim]not checked: {'; '.join(unchecked)}[/dim]", 2)


def _notes(explanation: Explanation) -> Iterator[RenderableType]:
    if explanation.notes:
        yield from _heading("Also note")
    for note in explanation.notes:
        yield _line(escape(printable(note)), 2)


def _action_text(explanation: Explanation) -> str:
    """Return what a heal would do; an unknown path may cross a NAT, and a heal does not fix traffic that AWS drops."""
    action, reason = explanation.local_plan.plan.action, explanation.row.reason
    if action is PlanAction.NOTHING_TO_DO and reason in (Reason.UNRESOLVED_EGRESS, Reason.DROPPED):
        return "A heal would change nothing."
    return _ACTIONS[action]


def _finding(label: str, style: str, finding: Concern) -> Iterator[RenderableType]:
    # The evidence that a path crosses no NAT is the verdict, which stands above.
    evidence = "" if finding.code is Blocker.NOT_A_NAT_PATH else f": {escape(printable(finding.evidence))}"
    yield _line(f"[{style}]{label} {finding.code}[/]{evidence}", 2)
    yield _line(f"what to do: {escape(printable(finding.fix))}", 4)
