"""What a proposed change does: the verdicts before and after it, and how they differ by route table."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from express_path.domain.network.resources import TargetKind
from express_path.domain.network.snapshot import is_express_service
from express_path.domain.path.reasons import NO_WAY_OUT, SEVERITY_ORDER, Reason, Unknown
from express_path.domain.path.tracing import Tracer
from express_path.domain.remedy.remedies import needs_remedy
from express_path.domain.remedy.texts import PAGES, Remedy
from express_path.domain.verdict.annotations import MAX_LENGTH, MEANINGS
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.findings.baseline import Baseline
from express_path_cli.findings.row import Row, combined, known_id, rows_of
from express_path_cli.findings.scan_file import FindingId
from express_path_cli.findings.selection import Selection, evaluate_all, evaluators
from express_path_cli.findings.worklist import CROSSES_NAT
from express_path_cli.sources.change.change_file import ChangedViews
from express_path_cli.sources.change.resource import GONE, Action, Resource, UnknownId
from express_path_cli.sources.network import View
from express_path_cli.terminal.texts import count_text

_MOST = 5
"""How many route tables or resources a sentence names."""
_AFTER_APPLY = "known after the apply"
_BEGINNING = 16
"""How many characters tell a note from what is before it."""
_UNDECIDED = f"may change any path, which is {_AFTER_APPLY}"
"""In the note of a row whose path depends on a resource whose effect is not modelled."""
_ZONE_ID = re.compile("[a-z0-9-]+-az[0-9]+")
_SNAPSHOT = (
    "the addresses of S3 Express are not in the plan, and a more specific route may match them: a snapshot decides"
)

_REACHES = frozenset({*CROSSES_NAT, Reason.INTERNET_GATEWAY, Reason.ENDPOINT})
"""The reasons of subnets with a path to S3 Express."""
_OFF_NAT = frozenset(Reason) - CROSSES_NAT - {Reason.UNRESOLVED_EGRESS, Reason.LOSES_PATH}
"""The reasons of subnets that a change takes off a NAT, if it was on their path before."""
_ZONE = "NO_ROUTE or DROPPED is possible: the plan does not say whether its zone has a subnet of the attachment"


@dataclass(frozen=True, slots=True)
class TableChange:
    """A route table whose subnets change: how many of them have each reason before and after the apply.

    route_table_id: None until AWS gives it an id, and for the subnets whose route table is not known. address: empty if the
    change does not contain it.
    """

    route_table_id: str | None
    address: str
    before: Mapping[Reason, int]
    after: Mapping[Reason, int]


@dataclass(frozen=True, slots=True)
class ChangeFindings:
    """The rows after the apply, the findings before it, and the differences.

    before: None if the rows are compared already. sentences: the most important ones. undecided: the resources that may
    change paths in a way that is not judged.
    """

    rows: Sequence[Row]
    before: Baseline | None
    tables: Sequence[TableChange]
    sentences: Sequence[str]
    undecided: Sequence[str]


def judge(changed: ChangedViews, parameters: RuleParameters, selection: Selection) -> ChangeFindings:
    """Return what a change does, by the verdicts of the same engine before and after it."""
    earlier = evaluate_all(changed.before, parameters, selection)
    before = rows_of(earlier, evaluators(changed.before, parameters))
    verdicts = _verdicts_after(changed, earlier, parameters, selection)
    reasons = _reasons_before(changed, earlier)
    causes = Causes(changed)
    rows = []
    for row in rows_of(verdicts, evaluators(changed.after, parameters)):
        rows.append(_row(replace(row, before=reasons.get(row.key)), changed, causes))
    rows = combined(sorted(rows, key=lambda row: row.key))
    tables = _table_changes(before, rows, changed.addresses)
    findings = {FindingId(*row.key, row.reason): row.vpc_id for row in before if row.is_flagged}
    undecided = [name if kind in name else f"{name} ({kind})" for name, kind in sorted(changed.undecided.items())]
    sentences = _sentences(changed, before, rows, undecided)
    return ChangeFindings(rows, Baseline(findings), tables, sentences, undecided)


def verdicts_after(changed: ChangedViews, parameters: RuleParameters, selection: Selection) -> list[Verdict]:
    """Return one verdict for each subnet after the change."""
    before = evaluate_all(changed.before, parameters, selection)
    return _verdicts_after(changed, before, parameters, selection)


def _verdicts_after(
    changed: ChangedViews, before: Iterable[Verdict], parameters: RuleParameters, selection: Selection
) -> list[Verdict]:
    """Return one verdict for each subnet: UNRESOLVED_EGRESS if what is not known yet decides.

    A resource whose effect is not modelled may change a path, but what is a finding without it stays one: a path that crosses
    a NAT, and one that the change takes away.
    """
    reasons = _reasons_before(changed, before)
    with_paths = {key: reason for key, reason in reasons.items() if reason in _REACHES}
    verdicts = _verdicts(changed, changed.after, changed.others, with_paths, parameters, selection)
    unaffected = _verdicts(changed, changed.unaffected, changed.unaffected_others, with_paths, parameters, selection)
    findings = {
        _key(verdict): verdict
        for verdict in unaffected
        if verdict.reason in CROSSES_NAT or verdict.reason is Reason.LOSES_PATH
    }
    verdicts = [findings.get(_key(verdict), verdict) for verdict in verdicts]
    return verdicts if changed.has_network else [_of_no_network(verdict) for verdict in verdicts]


def _of_no_network(verdict: Verdict) -> Verdict:
    """Return the verdict of a change without a network, which is what an unknown path lacks, and not a permission."""
    if verdict.reason is not Reason.UNRESOLVED_EGRESS or verdict.unknown in (Unknown.AFTER_APPLY, Unknown.SOURCE):
        return verdict
    return replace(verdict, unknown=Unknown.NETWORK)


def _reasons_before(changed: ChangedViews, before: Iterable[Verdict]) -> dict[tuple[str, str, str], Reason]:
    """Return the reason of each subnet before the change; a subnet that replaces another one has the reason of that one."""
    reasons = {_key(verdict): verdict.reason for verdict in before}
    for (account_id, region, subnet_id), reason in [*reasons.items()]:
        for resource in changed.changed_by.get(subnet_id, {}).values():
            if resource.action is Action.REPLACE and resource.id_before == subnet_id:
                reasons[account_id, region, resource.id] = reason
    return reasons


def _key(verdict: Verdict) -> tuple[str, str, str]:
    return verdict.account_id, verdict.region, verdict.subnet_id


def _verdicts(
    changed: ChangedViews,
    after: Sequence[View],
    possible: Sequence[View],
    with_paths: Mapping[tuple[str, str, str], Reason],
    parameters: RuleParameters,
    selection: Selection,
) -> list[Verdict]:
    """Return the verdicts on views after the change.

    possible: the other views, of which any may be right. with_paths: the reasons of the subnets that have a path to S3
    Express before the change.
    """
    others: defaultdict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for verdict in evaluate_all(possible, parameters, selection):
        others[verdict.region, verdict.subnet_id].append(verdict)
    decided = []
    for verdict in evaluate_all(after, parameters, selection):
        every = [verdict, *others[verdict.region, verdict.subnet_id]]
        earlier = with_paths.get(_key(verdict))
        if earlier and all(one.reason in NO_WAY_OUT for one in every):
            worst = min(every, key=lambda one: SEVERITY_ORDER[one.reason])
            decided.append(_lost(worst, earlier, parameters))
        elif len({one.reason for one in every}) > 1:
            worst = min(every, key=lambda one: SEVERITY_ORDER[one.reason])
            name = changed.with_routes.get(verdict.route_table_id or "")
            if _is_certain(every):
                decided.append(worst)
            elif name:
                decided.append(_known_later(verdict, name, changed, parameters))
            else:
                decided.append(_unresolved(verdict, _SNAPSHOT, parameters))
        elif verdict.reason is Reason.NO_ROUTE and _may_be_dropped(verdict, changed):
            decided.append(_unresolved(verdict, _ZONE, parameters))
        elif verdict.reason is Reason.EXCLUDED and isinstance(verdict.vpc_id, UnknownId):
            note = f"{verdict.vpc_id} is {_AFTER_APPLY}"
            decided.append(_unresolved(verdict, note, parameters, Unknown.AFTER_APPLY))
        else:
            decided.append(_with_note(verdict, changed, parameters))
    return [replace(one, route_table_id=_known_table(one.route_table_id)) for one in decided]


def _lost(verdict: Verdict, before: Reason, parameters: RuleParameters) -> Verdict:
    """Return the verdict on a subnet whose path to S3 Express a change takes away. before: the reason before the change."""
    reason = Reason.LOSES_PATH
    said = verdict.annotation.removeprefix(f"{verdict.reason}: {MEANINGS[verdict.reason]}")
    if verdict.note:
        said = said.partition(f" ({verdict.note[:_BEGINNING]}")[
            0
        ]  # a long annotation has only the beginning of its note
    now = f"{verdict.reason}: {verdict.note}" if verdict.note else str(verdict.reason)
    note = f"{before} before, then {now}"
    return replace(
        verdict,
        compliance=parameters.compliance_of(reason),
        reason=reason,
        annotation=_shortened(f"{reason}: {MEANINGS[reason]}{said} ({note})"),
        note=note,
    )


def _known_table(table_id: str | None) -> str | None:
    """Return a route table, None if it is any of several."""
    return None if isinstance(table_id, UnknownId) else table_id


def _may_be_dropped(verdict: Verdict, changed: ChangedViews) -> bool:
    """Return whether traffic may not reach the transit gateway: its zone is not known, or no attachment is seen there.

    https://docs.aws.amazon.com/vpc/latest/tgw/tgw-vpc-attachments.html
    """
    zone = verdict.availability_zone_id
    if _ZONE_ID.fullmatch(zone) or all(hop.kind is not TargetKind.TRANSIT_GATEWAY for hop in verdict.path):
        return False
    return not any(
        snapshot.subnets[subnet_id].availability_zone_id == zone
        for snapshot in {id(view.tracer): view.tracer.snapshot for view in changed.after}.values()
        for attachment in (snapshot.transit_gateway_attachments or {}).values()
        if attachment.resource_id == verdict.vpc_id
        for subnet_id in attachment.subnet_ids or ()
        if subnet_id in snapshot.subnets
    )


def _is_certain(possible: Sequence[Verdict]) -> bool:
    """Return whether all verdicts that are possible have the same compliance. Then the worst of them counts."""
    return len({one.compliance for one in possible}) == 1 and all(
        one.reason is not Reason.UNRESOLVED_EGRESS for one in possible
    )


def _with_note(verdict: Verdict, changed: ChangedViews, parameters: RuleParameters) -> Verdict:
    """Return a verdict whose note says so if its path ends at a value that is not known."""
    ends = (verdict.path[-1].id, verdict.path[0].destination) if verdict.path else ()
    end = next((one for one in ends if isinstance(one, UnknownId)), None)
    if verdict.reason is not Reason.UNRESOLVED_EGRESS or end is None:
        return verdict
    if end in changed.undecided:
        return _unresolved(verdict, f"{end} {_UNDECIDED}", parameters, Unknown.AFTER_APPLY)
    return _known_later(verdict, end, changed, parameters)


def _known_later(verdict: Verdict, name: str, changed: ChangedViews, parameters: RuleParameters) -> Verdict:
    """Return the verdict on a path that depends on a value that only the apply shows, or perhaps the configuration."""
    if changed.has_source:
        return _unresolved(verdict, f"{name} is {_AFTER_APPLY}", parameters, Unknown.AFTER_APPLY)
    return _unresolved(verdict, f"{name} is {_AFTER_APPLY}, or with --source DIR", parameters, Unknown.SOURCE)


def _unresolved(verdict: Verdict, note: str, parameters: RuleParameters, unknown: Unknown | None = None) -> Verdict:
    reason = Reason.UNRESOLVED_EGRESS
    return replace(
        verdict,
        compliance=parameters.compliance_of(reason),
        reason=reason,
        annotation=_shortened(f"{reason}: {MEANINGS[reason]} ({note})"),
        path=(),
        note=note,
        lacks="",
        unknown=unknown,
        excluded_by="",
    )


def _shortened(annotation: str) -> str:
    return annotation if len(annotation) <= MAX_LENGTH else f"{annotation[: MAX_LENGTH - 3]}..."


class Causes:
    """The resources of a change that change the path of a subnet."""

    def __init__(self, changed: ChangedViews) -> None:
        """Keep the networks before and after the change."""
        self._changed = changed
        self._before, self._after = _tracers(changed.before), _tracers(changed.after)

    def of(self, row: Row) -> dict[str, Resource]:
        """Return what changes the subnet, its route table, or for a path that is lost, what the path leads through."""
        changed_by = self._changed.changed_by
        found = {**changed_by.get(row.route_table_id or "", {}), **changed_by.get(row.subnet_id, {})}
        if row.reason is not Reason.LOSES_PATH:
            return found
        for tracer in (self._before.get(row.region), self._after.get(row.region)):
            subnet = tracer.snapshot.subnets.get(row.subnet_id) if tracer else None
            for trace in tracer.traces_of(subnet) if tracer and subnet else ():
                hops = [hop.id for traced in trace.results for outcome in traced.outcomes for hop in outcome.path]
                for resource_id in (*sorted(trace.consulted), *hops):
                    found |= changed_by.get(resource_id, {})
        return found


def _tracers(views: Iterable[View]) -> dict[str, Tracer]:
    return {view.region: view.tracer for view in views}


_ENDPOINTS = ("aws_vpc_endpoint", "aws_vpc_endpoint_route_table_association")


def _kept_endpoint(row: Row, causes: Mapping[str, Resource]) -> Remedy | None:
    """Return how a route table keeps its endpoint, if the change takes that away; None if it does not."""
    table = row.route_table_id
    if row.before is not Reason.ENDPOINT or not table:
        return None
    name = row.table_address or table
    sentences = []
    for address, resource in causes.items():
        if resource.type in _ENDPOINTS and resource.action is Action.DELETE:
            sentences.append(f"Keep {address}, which gives {name} its route to the endpoint.")
        elif resource.type == "aws_vpc_endpoint" and table in resource.before.listed("route_table_ids")[0]:
            argument = resource.after.words.get("route_table_ids", "route_table_ids")
            sentences.append(f"Keep {name} in {argument} of {address}.")
    return Remedy(" ".join(sentences), url=PAGES[row.reason]) if sentences else None


def _lost_remedy(row: Row, causes: Mapping[str, Resource]) -> Remedy:
    """Return what to change in the configuration so that the subnets of a route table keep their path."""
    gone = [address for address, resource in causes.items() if resource.action in GONE]
    made = [address for address in causes if address not in gone]
    subnets = f"The subnets of {row.route_table_id} lose their" if row.route_table_id else f"{row.subnet_id} loses its"
    sentences = [f"{subnets} path to S3 Express ({row.note})."]
    is_behind_hub = row.path and row.path[-1].kind is TargetKind.GATEWAY_ENDPOINT
    if is_behind_hub and made:
        sentences.append(f"Leave {_listed(made)} out, until each VPC behind the hub has its own endpoint.")
    elif gone:
        sentences.append(f"Keep {_listed(gone)}.")
    elif made:
        sentences.append(f"Look at {_listed(made)}.")
    return Remedy(" ".join(sentences), url=PAGES[row.reason])


def _listed(addresses: Sequence[str]) -> str:
    more = f" and {len(addresses) - _MOST} more" if len(addresses) > _MOST else ""
    return f"{', '.join(addresses[:_MOST])}{more}"


def _row(row: Row, changed: ChangedViews, found: Causes) -> Row:
    """Return a row with addresses, what changes it, and what to do about that in the configuration."""
    table_id = row.route_table_id or ""
    changed_by = found.of(row)
    if known_id(table_id):
        row = replace(row, table_address=changed.addresses.get(table_id, ""))
    if row.is_flagged and (kept := _kept_endpoint(row, changed_by)):
        row = replace(row, remedy=kept)
    elif row.reason is Reason.LOSES_PATH:
        row = replace(row, remedy=_lost_remedy(row, changed_by))
    elif row.remedy and row.remedy.endpoint and known_id(row.remedy.endpoint.id):
        row = replace(row, endpoint_address=changed.addresses.get(row.remedy.endpoint.id, ""))
    elif row.is_flagged and row.remedy and not row.remedy.endpoint and changed_by:
        row = replace(row, remedy=replace(row.remedy, text=f"{row.remedy.text} Look at {_listed([*changed_by])}."))
    if needs_remedy(row):
        causes = sorted(changed_by, key=_cause_order)
        location = changed.locate(
            (*causes, changed.addresses.get(table_id, ""), changed.addresses.get(row.subnet_id, ""))
        )
        row = replace(row, file=location.file, line=location.line) if location else row
    return replace(
        row,
        address=changed.addresses.get(row.subnet_id, ""),
        changed_by=tuple(changed_by),
        availability_zone_id=row.availability_zone_id if _ZONE_ID.fullmatch(row.availability_zone_id) else "",
    )


_CAUSES = (
    "aws_route",
    "aws_vpc_endpoint_route_table_association",
    "aws_vpc_endpoint",
    "aws_route_table_association",
    "aws_main_route_table_association",
)
"""The types of resources that change a path, the most specific first."""


def _cause_order(address: str) -> int:
    kind = next((kind for kind in _CAUSES if f".{kind}." in f".{address}"), "")
    return _CAUSES.index(kind) if kind else len(_CAUSES)


def _table_changes(before: Iterable[Row], after: Iterable[Row], addresses: Mapping[str, str]) -> list[TableChange]:
    """Return the route tables whose subnets have other verdicts after the apply."""
    counts: list[defaultdict[str | None, Counter[Reason]]] = [defaultdict(Counter), defaultdict(Counter)]
    for rows, found in zip((before, after), counts, strict=True):
        for row in rows:
            found[row.route_table_id][row.reason] += 1
    earlier, later = counts
    return [
        TableChange(
            known_id(one),
            addresses.get(one or "", "" if known_id(one) else one or ""),
            dict(earlier[one]),
            dict(later[one]),
        )
        for one in sorted({*earlier, *later}, key=str)
        if earlier[one] != later[one]
    ]


def table_lines(change: ChangeFindings) -> Iterator[str]:
    """Yield a line for each route table whose subnets have other verdicts after the apply."""
    for table in change.tables:
        name = table.route_table_id or table.address or "unknown route table"
        named = f"{name} ({table.address})" if table.address not in ("", name) else name
        yield f"{named}: {_counted(table.before)} -> {_counted(table.after)}"


def _counted(reasons: Mapping[Reason, int]) -> str:
    return ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items())) or "no subnet"


def _sentences(
    changed: ChangedViews, before: Sequence[Row], after: Sequence[Row], undecided: Sequence[str]
) -> list[str]:
    """Return what the plan changes, the most important first."""
    earlier = {row.key: row.reason in CROSSES_NAT for row in before}
    new = [row for row in after if row.reason in CROSSES_NAT and not earlier.get(row.key)]
    taken = [row for row in after if row.reason is Reason.LOSES_PATH]
    off = [row for row in after if row.reason in _OFF_NAT and earlier.get(row.key)]
    unresolved = sum(row.reason is Reason.UNRESOLVED_EGRESS for row in after)
    found = [_undecided(undecided)] if undecided else []
    found += [f"This plan takes the path to S3 Express away from {count_text(len(taken), 'subnet')}."] if taken else []
    found += [f"This plan puts {count_text(len(new), 'subnet')} behind a NAT."] if new else []
    lost = _without_endpoint(changed)
    if lost:
        found.append(
            f"Route table {lost[0]} loses the endpoint."
            if len(lost) == 1
            else f"Route tables {_listed(lost)} lose the endpoint."
        )
    found += [f"This plan takes {count_text(len(off), 'subnet')} off a NAT."] if off else []
    if unresolved:
        found.append(f"The egress path of {count_text(unresolved, 'subnet')} is not known before the apply.")
    return found or ["This plan puts no subnet behind a NAT."]


def _undecided(named: Sequence[str]) -> str:
    """Return which resources may change paths in a way that is not modelled."""
    return f"Could not be decided: what {_listed(named)} would change."


def _without_endpoint(changed: ChangedViews) -> list[str]:
    """Return the route tables that stay and lose their route to a gateway endpoint of S3 Express."""
    before, after = _with_endpoint(changed.before), _with_endpoint((*changed.after, *changed.others))
    kept = {table_id for view in changed.after for table_id in view.tracer.snapshot.route_tables}
    return sorted((before - after) & kept)


def _with_endpoint(views: Iterable[View]) -> set[str]:
    found = set()
    for snapshot in {id(view.tracer): view.tracer.snapshot for view in views}.values():
        express = {
            endpoint.id
            for endpoint in snapshot.vpc_endpoints.values()
            if is_express_service(endpoint.service_name, snapshot.region)
        }
        for table in snapshot.route_tables.values():
            own = [route for route in table.routes if route.target_kind is TargetKind.VPC_ENDPOINT]
            if any(route.target_id in express for route in own):
                found.add(table.id)
    return found
