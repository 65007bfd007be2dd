"""Plan heals, from what EC2, the ledger, and the settings say now."""

from dataclasses import replace

from express_path.adapters.aws import Aws, calling
from express_path.adapters.entrances import with_entrances
from express_path.adapters.heal_reader import approval_run, evidence_for
from express_path.adapters.heal_requests import HealRequest
from express_path.domain.heal.claims import Observation, RepeatPolicy
from express_path.domain.heal.ledger_records import NO_RECORDS
from express_path.domain.heal.plan import BLOCKER_BY_REASON, PlanContext, is_healable, make_plan
from express_path.domain.heal.preflight import Evidence
from express_path.domain.heal.records import HealSettings, parse_endpoint_policy
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Compliance
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.healing.rereading import ATTEMPTS, read_until_two_agree
from express_path.healing.services import HealServices, creators_of, current_time


class Planner:
    """Plans heals in one account, by the rule's parameters and the stack's settings."""

    def __init__(self, services: HealServices) -> None:
        """Read the settings. Raise SettingError, and ApiError if the endpoint policy cannot be read."""
        self._services = services
        self.settings = with_endpoint_policy(services.aws, services.read_settings())

    def evaluator(self, subnet_id: str) -> Evaluator:
        """Return an evaluator for a snapshot of the subnet's VPC as it is now, empty without the subnet. Raise ApiError."""
        services = self._services
        snapshot = Snapshot(services.account_id, services.aws.region)
        if vpc_id := services.snapshots.vpc_of(subnet_id):
            snapshot = services.snapshots.read(services.account_id, vpc_id, services.parameters)
            role_arn = services.parameters.network_role_arn or ""
            snapshot = with_entrances(services.aws, services.snapshots, snapshot, vpc_id, role_arn)
        return Evaluator(Tracer(snapshot), services.parameters)

    def settled_plan(self, request: HealRequest, policy: RepeatPolicy, *, needs_approval: bool = False) -> Observation:
        """Plan until a plan is as expected, or two plans in a row agree, so that one late answer decides nothing.

        needs_approval: the plan is blocked unless somebody approved the heal. Raise ApiError.
        """
        return read_until_two_agree(
            lambda: self._plan(request, needs_approval=needs_approval, has_preflight=policy.has_preflight),
            lambda before, now: _decision(before) == _decision(now) and not policy.temporary(now),
            policy.expected,
            policy.attempts or ATTEMPTS,
        )

    def _plan(self, request: HealRequest, *, needs_approval: bool, has_preflight: bool) -> Observation:
        """Plan once. Without a pre-flight, only the network, the ledger and the change calendar are read."""
        evaluator = self.evaluator(request.subnet_id)
        verdict = evaluator.verdict(request.subnet_id)
        table_id = verdict.route_table_id
        view = self._services.ledger.view(table_id, verdict.vpc_id) if table_id else NO_RECORDS
        now = current_time()
        evidence = self._evidence(evaluator, verdict, has_preflight=has_preflight)
        run = None
        if needs_approval and table_id and view.table.approval:
            approval_run_id = view.table.approval.run_id
            run = approval_run(self._services.aws.ssm, approval_run_id, self.settings, table_id, request.run_id)
        creators = creators_of(self._services, view.vpc, request.run_id)
        context = PlanContext(evidence, self.settings, now, view, request.started_by, needs_approval, run, creators)
        return Observation(evaluator, make_plan(evaluator, request.subnet_id, context), view, now)

    def _evidence(self, evaluator: Evaluator, verdict: Verdict, *, has_preflight: bool) -> Evidence:
        """Read what the pre-flight checks; nothing if there is nothing to heal."""
        if verdict.compliance is not Compliance.NON_COMPLIANT and verdict.reason not in BLOCKER_BY_REASON:
            return Evidence()
        calendar_open = self._is_calendar_open()
        table = evaluator.table_of(verdict)
        if table is None or not (has_preflight and is_healable(verdict)):
            return Evidence(calendar_open=calendar_open)
        return evidence_for(self._services.aws, evaluator, verdict, table, calendar_open=calendar_open)

    def _is_calendar_open(self) -> bool:
        """Return whether the change calendar allows heals now. Raise ApiError, also if the calendar does not exist."""
        if not self.settings.calendar:
            return True
        with calling("ssm:GetCalendarState"):
            ssm = self._services.aws.ssm
            return ssm.get_calendar_state(CalendarNames=[self.settings.calendar])["State"] == "OPEN"


def _decision(observation: Observation) -> tuple[object, ...]:
    plan = observation.plan
    return plan.action, plan.endpoint_id, plan.verdict.route_table_id, [blocker.code for blocker in plan.blockers]


def with_endpoint_policy(aws: Aws, settings: HealSettings) -> HealSettings:
    """Return the settings with the policy from the SSM parameter that they name. Raise SettingError, ApiError."""
    if not settings.policy_parameter:
        return settings
    with calling("ssm:GetParameter"):
        parameter = aws.ssm.get_parameter(Name=settings.policy_parameter, WithDecryption=True)["Parameter"]
    return replace(settings, policy=parse_endpoint_policy(parameter["Value"]))
