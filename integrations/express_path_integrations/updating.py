"""Bring the findings in Security Hub up to date with what AWS Config has stored. The handler reports the answer.

Messages only say where to look: at one subnet, or after a sweep at all of them. What a finding says comes from the result
that AWS Config has stored, from EC2, and from this code, so a message cannot open, close, or change one. Late, repeated,
and reordered messages cannot bring an old state back either.
"""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from express_path.adapters.aws import Aws
from express_path.adapters.config_rule.stored_results import StoredResult, stored_results, stored_results_of
from express_path.domain.network.ids import wrong_form
from express_path.domain.path.reasons import Compliance
from express_path.domain.remedy.remedies import remedy
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.annotations import Annotation, read_annotation
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.fanout import ResourceType
from express_path.errors import ApiError, RecordError
from express_path.fields import identifier, member
from express_path_integrations.adapters.messages import News
from express_path_integrations.adapters.security_hub import OwnFinding, OwnFindings, finding_to_import
from express_path_integrations.adapters.subnets import read_places
from express_path_integrations.findings import Rejected, RuleScope, StoredVerdict, Written

_NOT_ENABLED = "InvalidAccessException"


@dataclass(frozen=True, slots=True)
class IntegrationServices:
    """What is needed: AWS Config's results and EC2, the findings of one rule, and the time."""

    aws: Aws
    scope: RuleScope
    findings: OwnFindings
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


def apply_news(services: IntegrationServices, news: Sequence[News]) -> Written:
    """Bring the findings up to date after all these messages together. Raise ApiError, or RecordError for a finding.

    A stored result that cannot be read is rejected, and the findings of its subnet stay as they are.
    """
    subnet_ids = {part.subnet_id for part in news if part.subnet_id}
    try:
        return _apply(services, subnet_ids, swept=any(part.swept for part in news))
    except ApiError as error:
        if error.code == _NOT_ENABLED:
            return Written(note="Security Hub is not enabled in this account and Region, so there are no findings")
        raise


def _apply(services: IntegrationServices, subnet_ids: set[str], *, swept: bool) -> Written:
    """Compare the findings of these subnets, or after a sweep of all, with the stored results, and write what differs."""
    findings, config, scope = services.findings, services.aws.config, services.scope
    at = services.now()  # before the results are read, so that what is read later counts as newer
    existing = findings.active() if swept else {}
    if swept:
        results = stored_results(config, scope.rule_name)
    else:
        results = stored_results_of(config, scope.rule_name, ResourceType.SUBNET.value, sorted(subnet_ids))
    verdicts, unreadable = _read(scope, results)
    if swept:
        failing = {subnet_id for subnet_id, found in verdicts.items() if found.compliance is Compliance.NON_COMPLIANT}
        subnet_ids = subnet_ids | existing.keys() | failing
    existing |= findings.of_subnets(sorted(subnet_ids - existing.keys()))
    current = [
        StoredVerdict(subnet_id, at, verdicts.get(subnet_id))
        for subnet_id in sorted(subnet_ids - {row.subnet_id for row in unreadable})
    ]
    concerned = [stored for stored in current if stored.fails or _is_active(existing.get(stored.subnet_id))]
    made = (
        finding_to_import(existing.get(stored.subnet_id), stored, scope.rule_name)
        for stored in _described(services, concerned)
    )
    written = findings.write([finding for finding in made if finding])
    rejected = [row for row in unreadable if swept or row.subnet_id in subnet_ids]
    return replace(written, rejected=(*rejected, *written.rejected))


def _is_active(finding: OwnFinding | None) -> bool:
    return finding is not None and finding.is_active


def _read(scope: RuleScope, results: Mapping[str, StoredResult]) -> tuple[dict[str, Verdict], list[Rejected]]:
    """Return what results say, by subnet, and those that cannot be read: one of them must not stop the others."""
    verdicts: dict[str, Verdict] = {}
    unreadable: list[Rejected] = []
    for subnet_id, result in results.items():
        try:
            verdicts[subnet_id] = _verdict(scope, subnet_id, result)
        except RecordError as error:
            unreadable.append(Rejected(subnet_id, type(error).__name__, str(error)))
    return verdicts, unreadable


def _verdict(scope: RuleScope, subnet_id: str, result: StoredResult) -> Verdict:
    """Return what a stored result says. Raise RecordError if it is not one of this rule, or has an ID of another form."""
    place = f"result of {subnet_id}"
    said = read_annotation(result.annotation)
    if said is None or any(wrong_form(named, "resourceId") for named in _ids(said)):
        raise RecordError(place, "Annotation", result.annotation, "one of this rule")
    return Verdict(
        account_id=scope.account_id,
        region=scope.region,
        vpc_id="",
        subnet_id=identifier({"subnetId": subnet_id}, "subnetId", place),
        availability_zone_id="",
        route_table_id=said.route_table_id,
        compliance=member(result._asdict(), "compliance", place, Compliance),
        reason=said.reason,
        annotation=result.annotation,
        path=said.path,
    )


def _ids(said: Annotation) -> list[str]:
    return [*([said.route_table_id] if said.route_table_id else []), *(hop.id for hop in said.path)]


def _described(services: IntegrationServices, stored: Iterable[StoredVerdict]) -> list[StoredVerdict]:
    """Return verdicts with their VPCs, zones, remedies, and tags. Raise ApiError."""
    rows = list(stored)
    tables = {row.subnet_id: row.verdict.route_table_id if row.verdict else None for row in rows}
    places = read_places(services.aws.ec2, tables)
    described = []
    for row in rows:
        place, verdict = places.get(row.subnet_id), row.verdict
        if place and verdict:
            verdict = replace(verdict, vpc_id=place.vpc_id, availability_zone_id=place.zone_id)
        described.append(replace(row, verdict=verdict, remedy=_remedy(verdict), tags=place.tags if place else {}))
    return described


def _remedy(verdict: Verdict | None) -> Remedy | None:
    """Return what to do, with the command that shows the change for the network as it is then."""
    found = remedy(verdict, None) if verdict else None
    if found is None or verdict is None:
        return None
    return replace(
        found, command=shlex.join(["express-path", "explain", verdict.subnet_id, "--region", verdict.region])
    )
