"""Decide by the worst outcome of a subnet's S3 Express addresses."""

from dataclasses import dataclass

from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import RouteTable
from express_path.domain.path.outcomes import Hop, Outcome, Trace
from express_path.domain.path.reasons import NAT_REASONS, SEVERITY_ORDER, Compliance, Reason
from express_path.domain.path.routing import AddressSet
from express_path.domain.verdict.annotation import annotate
from express_path.domain.verdict.parameters import RuleParameters


@dataclass(frozen=True, slots=True)
class Decision:
    """The part of a verdict that subnets with the same origin share."""

    compliance: Compliance
    reason: Reason
    annotation: str
    path: tuple[Hop, ...]
    note: str
    lacks: str


@dataclass(frozen=True, slots=True)
class _WorstOutcome:
    """The worst of the outcomes that addresses may have."""

    addresses: AddressSet
    outcome: Outcome


def worst_decision(trace: Trace, table: RouteTable, parameters: RuleParameters) -> Decision:
    """Decide by the worst outcome of all addresses."""

    def severity(outcome: Outcome) -> tuple[bool, int, tuple[Hop, ...], str]:
        """Return a sort key, worst first: NON_COMPLIANT, then by reason; path and note make the order unambiguous."""
        is_harmless = parameters.compliance_of(outcome.reason) is not Compliance.NON_COMPLIANT
        return is_harmless, SEVERITY_ORDER[outcome.reason], outcome.path, outcome.note

    worst = [_WorstOutcome(traced.addresses, min(traced.outcomes, key=severity)) for traced in trace.results]
    reasons = {found.outcome.reason for found in worst}
    is_partly_nat = Reason.ENDPOINT in reasons and not reasons.isdisjoint(NAT_REASONS)
    if is_partly_nat:
        worst = [found for found in worst if found.outcome.reason in NAT_REASONS]
    if not worst:
        return decision_by(Outcome(Reason.NO_ROUTE), table, parameters)
    deciding = min(worst, key=lambda found: (severity(found.outcome), found.addresses))
    reason = Reason.PARTLY_NAT if is_partly_nat else deciding.outcome.reason
    return decision_by(deciding.outcome, table, parameters, reason, deciding.addresses.block.family)


def decision_by(
    deciding: Outcome,
    table: RouteTable | None,
    parameters: RuleParameters,
    reason: Reason | None = None,
    family: Family = Family.IPV4,
) -> Decision:
    """Return a decision by one outcome; its reason is the outcome's unless another is given."""
    reason = reason or deciding.reason
    compliance = parameters.compliance_of(reason)
    return Decision(
        compliance, reason, annotate(reason, deciding, table, family), deciding.path, deciding.note, deciding.lacks
    )
