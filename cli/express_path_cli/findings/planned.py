"""What a plan changes: the verdicts before and after the apply, and how they differ by route table."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from express_path.domain.network.resources import TargetKind
from express_path.domain.network.snapshot import is_express_service
from express_path.domain.path.reasons import SEVERITY_ORDER, Reason
from express_path.domain.remedy.remedies import needs_remedy
from express_path.domain.remedy.texts import how_to_find_out
from express_path.domain.verdict.annotations import MAX_LENGTH, MEANINGS
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.findings.baseline import Baseline
from express_path_cli.findings.row import AFTER_APPLY, OR_WITH_SOURCE, Row, rows_of, what_to_find_out
from express_path_cli.findings.scan_file import FindingId
from express_path_cli.findings.selection import Selection, evaluate_all
from express_path_cli.findings.worklist import CROSSES_NAT
from express_path_cli.sources.network import View
from express_path_cli.sources.plan.overlay import UNKNOWN_VALUE
from express_path_cli.sources.plan.planned import Planned
from express_path_cli.terminal.texts import count_text

_MOST = 5
"""How many route tables a sentence names."""
_ZONE_ID = re.compile("[a-z0-9-]+-az[0-9]+")
_SNAPSHOT = (
    "the addresses of S3 Express are not in the plan, and a more specific route may match them: a snapshot decides"
)

_ZONE = "NO_ROUTE or DROPPED is possible: the plan does not say whether its zone has a subnet of the attachment"


@dataclass(frozen=True, slots=True)
class TableChange:
    """A route table whose subnets change: how many of them have each reason before and after the apply.

    route_table_id: None for the subnets whose route table is not known.
    """

    route_table_id: str | None
    address: str
    before: Mapping[Reason, int]
    after: Mapping[Reason, int]


@dataclass(frozen=True, slots=True)
class PlanFindings:
    """The rows after the apply, the findings before it, and the differences. sentences: the most important ones."""

    rows: Sequence[Row]
    before: Baseline
    tables: Sequence[TableChange]
    sentences: Sequence[str]


def judge(planned: Planned, parameters: RuleParameters, selection: Selection) -> PlanFindings:
    """Return what a plan changes, by the verdicts of the same engine before and after the apply."""
    before = rows_of(evaluate_all(planned.before, parameters, selection), planned.before)
    verdicts = _after(planned, parameters, selection)
    rows = [_planned_row(row, planned) for row in rows_of(verdicts, planned.after)]
    rows.sort(key=lambda row: row.key)
    tables = _table_changes(before, rows, planned.addresses)
    findings = {FindingId(*row.key, row.reason): row.vpc_id for row in before if row.is_flagged}
    return PlanFindings(rows, Baseline(findings), tables, _sentences(planned, before, rows))


def _after(planned: Planned, parameters: RuleParameters, selection: Selection) -> list[Verdict]:
    """Return one verdict for each subnet: UNRESOLVED_EGRESS if what is not known yet decides."""
    found = evaluate_all(planned.after, parameters, selection)
    elsewhere = {
        (verdict.region, verdict.subnet_id): verdict
        for verdict in evaluate_all(planned.elsewhere, parameters, selection)
    }
    decided = []
    for verdict in (_with_note(one, planned) for one in found):
        other = elsewhere.get((verdict.region, verdict.subnet_id))
        if other is not None and other.reason is not verdict.reason:
            worst = min(verdict, other, key=lambda one: SEVERITY_ORDER[one.reason])
            decided.append(worst if _is_certain([verdict, other]) else _unresolved(verdict, _SNAPSHOT, parameters))
        elif verdict.reason is Reason.NO_ROUTE and _may_be_dropped(verdict, planned):
            decided.append(_unresolved(verdict, _ZONE, parameters))
        elif verdict.reason is Reason.EXCLUDED and not _is_known(verdict.vpc_id):
            decided.append(_unresolved(verdict, f"{verdict.vpc_id} is known after the apply", parameters))
        else:
            decided.append(verdict)
    copies: defaultdict[tuple[str, str, str], list[Verdict]] = defaultdict(list)
    for verdict in decided:
        subnet_id = planned.copies.get(verdict.subnet_id, verdict.subnet_id)
        copies[verdict.account_id, verdict.region, subnet_id].append(verdict)
    return [_joint(subnet_id, ones, planned, parameters) for (_, _, subnet_id), ones in copies.items()]


def _may_be_dropped(verdict: Verdict, planned: Planned) -> bool:
    """Return whether traffic may not reach the transit gateway: its zone is not known, or no attachment is seen there.

    https://docs.aws.amazon.com/vpc/latest/tgw/tgw-vpc-attachments.html
    """
    zone = verdict.availability_zone_id
    if _ZONE_ID.fullmatch(zone) or all(hop.kind is not TargetKind.TRANSIT_GATEWAY for hop in verdict.path):
        return False
    return not any(
        snapshot.subnets[subnet_id].availability_zone_id == zone
        for snapshot in {id(view.tracer): view.tracer.snapshot for view in planned.after}.values()
        for attachment in (snapshot.transit_gateway_attachments or {}).values()
        if attachment.resource_id == verdict.vpc_id
        for subnet_id in attachment.subnet_ids or ()
        if subnet_id in snapshot.subnets
    )


def _joint(subnet_id: str, ones: Sequence[Verdict], planned: Planned, parameters: RuleParameters) -> Verdict:
    """Return the verdict on a subnet whose route table, or the routes of that table, are not certain.

    If all that is possible has the same compliance, that is certain, and the worst reason counts.
    """
    if len(ones) == 1 and ones[0].subnet_id == subnet_id:
        return ones[0]
    reasons = sorted({one.reason for one in ones}, key=SEVERITY_ORDER.__getitem__)
    worst = [one for one in ones if one.reason is reasons[0]]
    probable = next((one for one in worst if one.subnet_id == planned.probable.get(subnet_id)), None)
    tables = {_table_of(one, planned) for one in ones}
    chosen = probable or worst[0]
    table_id = tables.pop() if len(tables) == 1 else None
    annotation = chosen.annotation.replace(str(chosen.route_table_id), str(_table_of(chosen, planned)))
    joint = replace(chosen, subnet_id=subnet_id, route_table_id=table_id, annotation=annotation)
    # The probable table decides if nothing worse is possible.
    if len(reasons) == 1 or _is_certain(ones) or (joint.is_flagged and probable):
        return replace(joint, route_table_id=_table_of(chosen, planned)) if probable else joint
    values = ", ".join(name.removesuffix(UNKNOWN_VALUE) for name in planned.unknown.get(subnet_id, ()))
    note = f"{' or '.join(reasons)} is possible; {_after_apply(planned)}: {values}"
    return _unresolved(joint, note, parameters)


def _is_certain(possible: Sequence[Verdict]) -> bool:
    """Return whether all verdicts that are possible have the same compliance. Then the worst of them counts."""
    return len({one.compliance for one in possible}) == 1 and all(
        one.reason is not Reason.UNRESOLVED_EGRESS for one in possible
    )


def _with_note(verdict: Verdict, planned: Planned) -> Verdict:
    """Return a verdict whose note says so if its path ends at a value that is not known."""
    if verdict.reason is not Reason.UNRESOLVED_EGRESS or not verdict.path or UNKNOWN_VALUE not in verdict.path[-1].id:
        return verdict
    note = _after_apply(planned)
    return replace(verdict, note=note, annotation=verdict.annotation.replace(verdict.note, note), lacks="")


def _after_apply(planned: Planned) -> str:
    return AFTER_APPLY if planned.has_source else OR_WITH_SOURCE


def _table_of(verdict: Verdict, planned: Planned) -> str | None:
    return planned.copies.get(verdict.route_table_id or "", verdict.route_table_id)


def _unresolved(verdict: Verdict, note: str, parameters: RuleParameters) -> Verdict:
    reason = Reason.UNRESOLVED_EGRESS
    annotation = f"{reason}: {MEANINGS[reason]} ({note})"
    shown = annotation if len(annotation) <= MAX_LENGTH else f"{annotation[: MAX_LENGTH - 3]}..."
    return replace(
        verdict,
        compliance=parameters.compliance_of(reason),
        reason=reason,
        annotation=shown,
        path=(),
        note=note,
        lacks="",
    )


def _is_known(resource_id: str) -> bool:
    """Return whether AWS has given an id: an address in a configuration has a dot, and an id has none."""
    return "." not in resource_id


def known_id(resource_id: str | None) -> str | None:
    """Return the id that AWS gave a resource, None as long as a plan knows only its address."""
    return resource_id if resource_id and _is_known(resource_id) else None


def _planned_row(row: Row, planned: Planned) -> Row:
    """Return a row with its address, and with a remedy only in words if its ids are not known yet."""
    table_id = row.route_table_id or ""
    if row.remedy and AFTER_APPLY in row.note:
        before, _, after = row.remedy.text.rpartition(how_to_find_out(row))
        row = replace(row, remedy=replace(row.remedy, text=f"{before}{what_to_find_out(row)}{after}"))
    changed_by = dict.fromkeys((*planned.changed_by.get(table_id, ()), *planned.changed_by.get(row.subnet_id, ())))
    is_known = _is_known(row.subnet_id) and _is_known(table_id)
    if needs_remedy(row):
        causes = sorted(changed_by, key=_cause_order)
        location = planned.locate(
            (*causes, planned.addresses.get(table_id, ""), planned.addresses.get(row.subnet_id, ""))
        )
        row = replace(row, file=location.file, line=location.line) if location else row
    return replace(
        row,
        address=planned.addresses.get(row.subnet_id, ""),
        changed_by=tuple(changed_by),
        availability_zone_id=row.availability_zone_id if _ZONE_ID.fullmatch(row.availability_zone_id) else "",
        remedy=row.remedy if is_known or row.remedy is None else replace(row.remedy, command="", patches={}),
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
        TableChange(table_id, addresses.get(table_id or "", ""), dict(earlier[table_id]), dict(later[table_id]))
        for table_id in sorted({*earlier, *later}, key=str)
        if earlier[table_id] != later[table_id]
    ]


def table_lines(plan: PlanFindings) -> Iterator[str]:
    """Yield a line for each route table whose subnets have other verdicts after the apply."""
    for change in plan.tables:
        name = change.route_table_id or "unknown route table"
        named = f"{name} ({change.address})" if change.address not in ("", name) else name
        yield f"{named}: {_counted(change.before)} -> {_counted(change.after)}"


def _counted(reasons: Mapping[Reason, int]) -> str:
    return ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items())) or "no subnet"


def _sentences(planned: Planned, before: Sequence[Row], after: Sequence[Row]) -> list[str]:
    """Return what the plan changes, the most important first."""
    earlier = {row.key: row.reason in CROSSES_NAT for row in before}
    new = [row for row in after if row.reason in CROSSES_NAT and not earlier.get(row.key)]
    gone = [row for row in after if row.reason not in CROSSES_NAT and earlier.get(row.key)]
    unresolved = sum(row.reason is Reason.UNRESOLVED_EGRESS for row in after)
    found = [f"This plan puts {count_text(len(new), 'subnet')} behind a NAT."] if new else []
    lost = _without_endpoint(planned)
    if lost:
        more = f" and {len(lost) - _MOST} more" if len(lost) > _MOST else ""
        found.append(
            f"Route table {lost[0]} loses the endpoint."
            if len(lost) == 1
            else f"Route tables {', '.join(lost[:_MOST])}{more} lose the endpoint."
        )
    off = [row for row in gone if row.reason is not Reason.UNRESOLVED_EGRESS]
    found += [f"This plan takes {count_text(len(off), 'subnet')} off a NAT."] if off else []
    if unresolved:
        found.append(f"The egress path of {count_text(unresolved, 'subnet')} is not known before the apply.")
    return found or ["This plan puts no subnet behind a NAT."]


def _without_endpoint(planned: Planned) -> list[str]:
    """Return the route tables that stay and lose their route to a gateway endpoint of S3 Express."""
    before = _with_endpoint(planned.before)
    after = {planned.copies.get(table_id, table_id) for table_id in _with_endpoint(planned.after)}
    kept = {table_id for view in planned.after for table_id in view.tracer.snapshot.route_tables}
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
            kinds = {route.target_kind for route in table.routes if route.target_id in express}
            if TargetKind.VPC_ENDPOINT in kinds:
                found.add(table.id)
    return found
