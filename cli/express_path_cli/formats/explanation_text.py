"""An explanation for a person: verdict, path, the routes that competed, and what a heal would do."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from express_path.domain.heal.records import Action, Finding
from express_path.domain.verdict.capacity import Capacity
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.explanation.advice import advice
from express_path_cli.explanation.explanation import Explanation
from express_path_cli.explanation.route_selection import Candidate, Contest, words
from express_path_cli.formats.terminal_table import STYLES

_PATCHES = {"cloudFormation": "CloudFormation", "terraform": "Terraform", "cli": "AWS CLI"}
_DOES = {
    Action.NOTHING_TO_DO: "Nothing to heal: no NAT is on the path to S3 Express.",
    Action.ASSOCIATE: "A heal would associate the route table with the endpoint that the VPC has.",
    Action.CREATE_AND_ASSOCIATE: "A heal would create a gateway endpoint, free of charge, and associate the table.",
    Action.BLOCKED: "This heal is blocked:",
}


def as_explanation(told: Explanation) -> RenderableType:
    """Verdict, path, routes and heal, one below the other; nothing is cut, whatever the width."""
    return Group(*_verdict(told), *_path(told), *_contests(told), *_healing(told))


def as_patches(told: Explanation) -> RenderableType:
    """The patches, to be copied: print them without wrapping."""
    sections = (
        [Text(), Text.from_markup(f"[bold]Patch for {_PATCHES[tool]}[/bold]"), Text(patch.rstrip("\n"))]
        for tool, patch in told.proposal.plan.patches.items()
    )
    return Group(*(line for section in sections for line in section))


def _line(markup: str, indent: int = 0) -> RenderableType:
    return Padding(Text.from_markup(markup), (0, 0, 0, indent))


def _heading(words: str) -> Iterator[RenderableType]:
    yield from (Text(), _line(f"[bold]{words}[/bold]"))


def _verdict(told: Explanation) -> Iterator[RenderableType]:
    verdict = told.verdict
    yield _line(f"[bold]{escape(verdict.subnet_id)}[/bold]  {escape(verdict.availability_zone_id or '')}")
    yield _line(escape(f"{verdict.vpc_id}  {verdict.region}  account {verdict.account_id}"))
    yield _line(f"[{STYLES[verdict.compliance]}]{verdict.compliance}[/]  {verdict.reason}")
    yield _line(escape(verdict.annotation))


def _path(told: Explanation) -> Iterator[RenderableType]:
    yield from _heading("Path")
    yield _line(escape(_table_words(told.verdict, is_main=told.is_main)), 2)
    capacity = {each.hop_id: each for each in told.capacities}
    for number, hop in enumerate(told.verdict.path, 1):
        kind = _carries(capacity[hop.id]) if hop.id in capacity else hop.kind.replace("_", " ").lower()
        yield _line(
            f"{number}. {escape(hop.destination)} -> [bold]{escape(hop.id)}[/bold]  "
            f"[dim]{escape(kind.replace('nat ', 'NAT '))}[/dim]",
            2,
        )


def _table_words(verdict: Verdict, *, is_main: bool) -> str:
    if verdict.route_table_id is None:
        return "the route table in force cannot be seen"
    why = f"the main route table of {verdict.vpc_id}" if is_main else "explicitly associated"
    return f"route table {verdict.route_table_id}, {why}"


def _carries(capacity: Capacity) -> str:
    if capacity.baseline_gbps is None:
        return capacity.name
    peak = f" to {capacity.peak_gbps:g}" if capacity.peak_gbps else ""
    return f"{capacity.name}, carries {capacity.baseline_gbps:g}{peak} Gbit/s"


def _contests(told: Explanation) -> Iterator[RenderableType]:
    if told.contests:
        yield from _heading("Routes that match S3 Express")
    for each in told.contests:
        yield _line(f"in [bold]{escape(each.table.id)}[/bold] for {_blocks(each)}", 2)
        if each.aside:
            yield _line("[dim]gateway endpoints left aside: what an instance translates does not use them[/dim]", 4)
        for candidate in each.candidates:
            yield _line(_candidate(candidate), 4)
        if not each.candidates:
            yield _line("none", 4)
        if each.others:
            yield _line(f"[dim]{_others(each.others)}[/dim]", 4)


def _others(number: int) -> str:
    return "1 other route does not match" if number == 1 else f"{number} other routes do not match"


def _blocks(contest: Contest) -> str:
    return ", ".join(map(str, contest.blocks))


def _candidate(candidate: Candidate) -> str:
    route = escape(words(candidate.route))
    if candidate.wins:
        return f"[green]wins[/green]  [bold]{route}[/bold]  {escape(candidate.why)}"
    if candidate.may_win:
        return f"[yellow]may win[/yellow]  [bold]{route}[/bold]  {escape(candidate.why)}"
    return f"[dim]lost  {route}  {escape(candidate.why)}[/dim]"


def _healing(told: Explanation) -> Iterator[RenderableType]:
    plan = told.proposal.plan
    yield from _heading("Healing")
    yield _line(escape(_does(told)), 2)
    for name, style, findings in (("blocked by", "red", plan.blockers), ("warning", "yellow", plan.warnings)):
        for each in dict.fromkeys(findings):
            yield from _finding(name, style, each, told.verdict)
    if told.proposal.unchecked:
        yield _line(f"[dim]not looked at here: {'; '.join(told.proposal.unchecked)}[/dim]", 2)


def _does(told: Explanation) -> str:
    """What a heal would do; if it would do nothing because the path is unknown or dropped, what to do instead."""
    instead = advice(told.verdict)
    if told.proposal.plan.action is Action.NOTHING_TO_DO and instead:
        return f"A heal would change nothing. {instead}"
    return " ".join(filter(None, (_DOES[told.proposal.plan.action], instead)))


def _finding(name: str, style: str, finding: Finding, verdict: Verdict) -> Iterator[RenderableType]:
    evidence = "" if finding.evidence == verdict.annotation else f": {escape(finding.evidence)}"
    yield _line(f"[{style}]{name} {finding.blocker}[/]{evidence}", 2)
    yield _line(f"what to do: {escape(finding.cure)}", 4)
