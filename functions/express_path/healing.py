"""What the plan function does for a heal: plan it, and verify the result. It only reads."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from express_path.adapters.answers import verdict_answer
from express_path.adapters.aws import Aws, calling
from express_path.adapters.ec2_snapshot import SnapshotReader
from express_path.adapters.heal_evidence import evidence_for
from express_path.adapters.heal_requests import HealRequest, plan_answer, summary
from express_path.domain.evidence import Evidence
from express_path.domain.heal_settings import parse_settings
from express_path.domain.healing import RUN_TAG, Action
from express_path.domain.parameters import RuleParameters
from express_path.domain.plan import Circumstances, is_healable, make_plan
from express_path.domain.reasons import Compliance
from express_path.domain.tracing import Tracer
from express_path.domain.verdict import Judge
from express_path.errors import BlockedError, NotCuredError
from express_path.looking import look_until

UNDO = "to undo: express-path undo {run_id}, or start RemoveS3ExpressGatewayEndpoint with RunId={run_id}"


class Healing:
    """Plans and verifies heals in one account, by the rule's parameters and the stack's settings."""

    def __init__(
        self,
        aws: Aws,
        snapshots: SnapshotReader,
        account_id: str,
        parameters: RuleParameters,
        settings: Mapping[str, str],
    ) -> None:
        """Prepare; nothing is read before it is asked for. settings are the function's environment."""
        self._aws = aws
        self._snapshots = snapshots
        self._account_id = account_id
        self._parameters = parameters
        self._settings = settings

    def plan(self, request: HealRequest) -> dict[str, Any]:
        """What a heal would change. Unless it is a dry run, a blocked plan raises BlockedError."""
        settings = parse_settings(self._settings, self._policy(request.policy_parameter))
        judge = self._judge(request.subnet_id)
        around = Circumstances(self._evidence(judge, request), settings, datetime.now(UTC))
        made = make_plan(judge, request.subnet_id, around)
        if made.action is Action.BLOCKED and not request.dry_run:
            raise BlockedError(summary(made), made.patches)
        return plan_answer(made, settings.rule_name, around.now.isoformat(timespec="seconds"))

    def verify(self, request: HealRequest) -> dict[str, Any]:
        """The verdict after a heal, asked again for some seconds while routes settle; raises NotCuredError."""

        def is_compliant(judge: Judge) -> bool:
            return judge.verdict(request.subnet_id).compliance is Compliance.COMPLIANT

        judge = look_until(lambda: self._judge(request.subnet_id), is_compliant)
        verdict = judge.verdict(request.subnet_id)
        if verdict.compliance is not Compliance.COMPLIANT:
            raise NotCuredError(request.subnet_id, verdict.annotation)
        # Where another run was faster, its id is on the table, and only that run can be undone.
        run_id = judge.snapshot.route_tables[str(verdict.route_table_id)].tags.get(RUN_TAG, request.run_id)
        return {**verdict_answer(verdict), "undo": UNDO.format(run_id=run_id)}

    def _judge(self, subnet_id: str) -> Judge:
        reader, account_id = self._snapshots, self._account_id
        vpc_id = reader.vpc_of(subnet_id)
        snapshot = reader.read(account_id, vpc_id, self._parameters) if vpc_id else reader.empty(account_id)
        return Judge(Tracer(snapshot), self._parameters)

    def _evidence(self, judge: Judge, request: HealRequest) -> Evidence:
        """What the pre-flight asks about; nothing is read where there is nothing to heal."""
        verdict = judge.verdict(request.subnet_id)
        if verdict.compliance is not Compliance.NON_COMPLIANT or not is_healable(verdict):
            return Evidence(calendar_open=request.calendar_open)
        return evidence_for(self._aws, judge, verdict, calendar_open=request.calendar_open)

    def _policy(self, parameter: str) -> str | None:
        """The text of the SSM parameter that holds the endpoint's policy, None where none is named."""
        if not parameter:
            return None
        with calling("ssm:GetParameter"):
            return self._aws.ssm.get_parameter(Name=parameter, WithDecryption=True)["Parameter"]["Value"]
