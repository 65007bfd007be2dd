"""Plan a heal from the network, the ledger and the stack's settings, as they are now. It only reads."""

from datetime import UTC, datetime

from express_path.adapters.aws import Aws, calling
from express_path.adapters.heal_reader import evidence_for
from express_path.domain.heal.claims import Observation, RepeatPolicy
from express_path.domain.heal.ledger import StartedBy
from express_path.domain.heal.plan import BLOCKER_BY_REASON, PlanContext, is_healable, make_plan
from express_path.domain.heal.preflight import Evidence
from express_path.domain.heal.records import HealSettings, with_policy
from express_path.domain.path.reasons import Compliance
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.heal_steps.repeated_reads import ATTEMPTS, read_until_two_agree
from express_path.heal_steps.services import Services


class Planner:
    """Plans heals in one account, by the rule's parameters and the stack's settings."""

    def __init__(self, services: Services) -> None:
        """Read the settings. Raise SettingError, and ApiError if the endpoint policy cannot be read."""
        self._services = services
        self.settings = with_endpoint_policy(services.aws, services.read_settings())

    def evaluator(self, subnet_id: str) -> Evaluator:
        """Return an evaluator for a snapshot of the subnet's VPC as it is now. Raise ApiError."""
        services = self._services
        reader, account_id = services.snapshots, services.account_id
        vpc_id = reader.vpc_of(subnet_id)
        snapshot = reader.read(account_id, vpc_id, services.parameters) if vpc_id else reader.empty(account_id)
        return Evaluator(Tracer(snapshot), services.parameters)

    def plan(
        self, subnet_id: str, started_by: StartedBy, *, needs_approval: bool = False, has_preflight: bool = True
    ) -> Observation:
        """Plan once. needs_approval: the plan is blocked unless somebody approved the heal. Raise ApiError.

        Without a pre-flight, only the network, the ledger and the change calendar are read.
        """
        evaluator = self.evaluator(subnet_id)
        verdict = evaluator.verdict(subnet_id)
        table_id = verdict.route_table_id
        view = self._services.ledger.view(table_id, verdict.vpc_id) if table_id else None
        now = datetime.now(UTC)
        evidence = self._evidence(evaluator, verdict, has_preflight=has_preflight)
        context = PlanContext(evidence, self.settings, now, view, started_by, needs_approval)
        return Observation(evaluator, make_plan(evaluator, subnet_id, context), view, now)

    def settled_plan(
        self,
        subnet_id: str,
        started_by: StartedBy,
        policy: RepeatPolicy,
        *,
        needs_approval: bool = False,
    ) -> Observation:
        """Plan until a plan is as expected, or two plans in a row agree, so that one late answer decides nothing."""
        return read_until_two_agree(
            lambda: self.plan(subnet_id, started_by, needs_approval=needs_approval, has_preflight=policy.has_preflight),
            lambda before, now: _decision(before) == _decision(now) and not policy.temporary(now),
            policy.expected,
            policy.attempts or ATTEMPTS,
        )

    def _evidence(self, evaluator: Evaluator, verdict: Verdict, *, has_preflight: bool) -> Evidence:
        """Read what the pre-flight checks; nothing if there is nothing to heal."""
        if verdict.compliance is not Compliance.NON_COMPLIANT and verdict.reason not in BLOCKER_BY_REASON:
            return Evidence()
        calendar_open = self._is_calendar_open()
        if not (has_preflight and is_healable(verdict)):
            return Evidence(calendar_open=calendar_open)
        return evidence_for(self._services.aws, evaluator, verdict, calendar_open=calendar_open)

    def _is_calendar_open(self) -> bool:
        """Return whether the change calendar allows heals now. Raise ApiError, also if the calendar does not exist."""
        if not self.settings.calendar:
            return True
        with calling("ssm:GetCalendarState"):
            ssm = self._services.aws.ssm
            return ssm.get_calendar_state(CalendarNames=[self.settings.calendar])["State"] == "OPEN"


def _decision(observation: Observation) -> tuple[object, ...]:
    plan = observation.plan
    return plan.action, plan.endpoint_id, plan.verdict.route_table_id, [found.blocker for found in plan.blockers]


def with_endpoint_policy(aws: Aws, settings: HealSettings) -> HealSettings:
    """Return the settings with the policy from the SSM parameter that they name. Raise SettingError, ApiError."""
    if not settings.policy_parameter:
        return settings
    with calling("ssm:GetParameter"):
        found = aws.ssm.get_parameter(Name=settings.policy_parameter, WithDecryption=True)
    return with_policy(settings, found["Parameter"]["Value"])
