"""One look at the network, the ledger and the stack's settings, and the plan that follows from it. It only reads."""

from collections.abc import Mapping
from datetime import UTC, datetime

from express_path.adapters.aws import Aws, calling
from express_path.adapters.ec2_snapshot import SnapshotReader
from express_path.adapters.heal_evidence import evidence_for
from express_path.adapters.ledger import Ledger
from express_path.domain.heal.evidence import Evidence
from express_path.domain.heal.ledger import StartedBy
from express_path.domain.heal.looks import Look, Until
from express_path.domain.heal.plan import REFUSALS, PlanContext, is_healable, make_plan
from express_path.domain.heal.records import HealSettings
from express_path.domain.heal.settings import parse_settings, with_policy
from express_path.domain.path.reasons import Compliance
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path.looking import ATTEMPTS, look_twice


class Planner:
    """Plans heals in one account, by the rule's parameters and the stack's settings."""

    def __init__(
        self,
        aws: Aws,
        snapshots: SnapshotReader,
        account_id: str,
        parameters: RuleParameters,
        environment: Mapping[str, str],
    ) -> None:
        """Read the settings. Raises SettingError, and ApiError where the endpoint policy cannot be read."""
        self.settings = read_settings(aws, environment)
        self.ledger = Ledger(aws.dynamodb, self.settings.ledger_table)
        self._aws = aws
        self._snapshots = snapshots
        self._account_id = account_id
        self._parameters = parameters

    def evaluator(self, subnet_id: str) -> Evaluator:
        """What judges the subnet now, by a snapshot of its VPC. Raises ApiError."""
        reader, account_id = self._snapshots, self._account_id
        vpc_id = reader.vpc_of(subnet_id)
        snapshot = reader.read(account_id, vpc_id, self._parameters) if vpc_id else reader.empty(account_id)
        return Evaluator(Tracer(snapshot), self._parameters)

    def look(
        self, subnet_id: str, started_by: StartedBy, *, needs_approval: bool = False, has_preflight: bool = True
    ) -> Look:
        """Plan once. needs_approval: a heal that nobody approved is blocked. Raises ApiError.

        Without a pre-flight, only the network, the ledger and the change calendar are looked at.
        """
        evaluator = self.evaluator(subnet_id)
        verdict = evaluator.verdict(subnet_id)
        table_id = verdict.route_table_id
        view = self.ledger.view(table_id, verdict.vpc_id) if table_id else None
        now = datetime.now(UTC)
        evidence = self._evidence(evaluator, verdict, has_preflight=has_preflight)
        context = PlanContext(evidence, self.settings, now, view, started_by, needs_approval)
        return Look(evaluator, make_plan(evaluator, subnet_id, context), view, now)

    def settled(
        self,
        subnet_id: str,
        started_by: StartedBy,
        until: Until,
        *,
        needs_approval: bool = False,
    ) -> Look:
        """Plan until a plan is as expected, or two plans in a row agree: a stale answer of EC2 decides nothing."""

        def agree(one: Look, other: Look) -> bool:
            return _essence(one) == _essence(other) and not until.temporary(other)

        return look_twice(
            lambda: self.look(subnet_id, started_by, needs_approval=needs_approval, has_preflight=until.has_preflight),
            agree,
            until.expected,
            until.attempts or ATTEMPTS,
        )

    def _evidence(self, evaluator: Evaluator, verdict: Verdict, *, has_preflight: bool) -> Evidence:
        """What the pre-flight asks about; nothing is read where there is nothing to heal."""
        if verdict.compliance is not Compliance.NON_COMPLIANT and verdict.reason not in REFUSALS:
            return Evidence()
        calendar_open = self._is_calendar_open()
        if not (has_preflight and is_healable(verdict)):
            return Evidence(calendar_open=calendar_open)
        return evidence_for(self._aws, evaluator, verdict, calendar_open=calendar_open)

    def _is_calendar_open(self) -> bool:
        """Whether heals may be made now. Raises ApiError, also for a change calendar that does not exist."""
        if not self.settings.calendar:
            return True
        with calling("ssm:GetCalendarState"):
            return self._aws.ssm.get_calendar_state(CalendarNames=[self.settings.calendar])["State"] == "OPEN"


def _essence(look: Look) -> tuple[object, ...]:
    plan = look.plan
    return plan.action, plan.endpoint_id, plan.verdict.route_table_id, [each.blocker for each in plan.blockers]


def read_settings(aws: Aws, environment: Mapping[str, str]) -> HealSettings:
    """The stack's settings, with the policy out of the SSM parameter that they name. Raises SettingError, ApiError."""
    settings = parse_settings(environment)
    if not settings.policy_parameter:
        return settings
    with calling("ssm:GetParameter"):
        found = aws.ssm.get_parameter(Name=settings.policy_parameter, WithDecryption=True)
    return with_policy(settings, found["Parameter"]["Value"])
