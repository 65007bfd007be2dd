"""Evaluate the subnets that an event of AWS Config concerns. The handler reports the result."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from express_path.adapters.aws import Aws, unless_denied
from express_path.adapters.config_rule.events import ConfigEvent, Item, whole_item
from express_path.adapters.config_rule.results import deleted_resource_ids, is_changed
from express_path.adapters.config_rule.stored_results import StoredResult, stored_results, stored_results_of
from express_path.adapters.network_changes import cannot_change_path, change_of, shows_no_change
from express_path.adapters.network_reader import SnapshotReader
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Reason
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.annotations import reason_of
from express_path.domain.verdict.evaluator import (
    DELETED,
    LEFT_SCOPE,
    Evaluator,
    Verdict,
    outside_vpc_ids,
    verdict_without_network,
)
from express_path.domain.verdict.fanout import ChangedResource, ResourceType, concerned_subnets
from express_path.domain.verdict.parameters import RuleParameters, Scope, parse_parameters
from express_path.errors import ApiError, RecordError, SightLostError

_STEP = timedelta(milliseconds=1)
"""How far the times of two results are apart, so that AWS Config keeps the later one."""


@dataclass(frozen=True, slots=True)
class RuleServices:
    """What evaluations need; snapshots remembers prefix lists between events.

    bus_name is the event bus to publish on. stack_id is the ID of the function's stack, whose parts a sweep checks, and
    ledger_table its ledger, empty without one.
    """

    aws: Aws
    snapshots: SnapshotReader
    bus_name: str = "default"
    stack_id: str = ""
    ledger_table: str = ""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The verdicts to report. evaluator has the network they describe, None if none was read; note is for the log.

    time is the time of the results: when the read of EC2 began, because what was read last must stay, in whatever order
    events arrive and invocations end. stored has the results that AWS Config had before that read, None if they were not
    read. If all subnets were evaluated, everything has the verdicts of all subnets that exist. lost is the error to raise
    after the report: its subnets keep their results.
    """

    verdicts: Sequence[Verdict]
    time: datetime
    evaluator: Evaluator | None = None
    note: str = ""
    stored: Mapping[str, StoredResult] | None = None
    everything: Sequence[Verdict] = ()
    lost: SightLostError | None = None

    @property
    def results(self) -> dict[str, StoredResult]:
        """What to report to AWS Config, by subnet. The last verdict of a subnet counts.

        stored was read before EC2, so a result in it that claims a later time comes from a clock that is ahead, or from
        somebody else who had a result token of the rule. AWS Config would keep it, so the time of the report is just
        after that.
        """
        results = {verdict.subnet_id: _result(verdict, self.time) for verdict in self.verdicts}
        stored = self.stored or {}
        for subnet_id in results.keys() & stored.keys():
            later = max(self.time, stored[subnet_id].ordering_timestamp + _STEP)
            results[subnet_id] = results[subnet_id]._replace(ordering_timestamp=later)
        return results

    @property
    def became_unresolved(self) -> int:
        """How many paths of a sweep are unknown now, although AWS Config has another reason and no event came before.

        An event evaluates a subnet when a recorded resource of its network changes. So something else changed: a
        resource of another account, one that is not recorded, or what the function may read.
        """
        stored = self.stored or {}
        return sum(
            verdict.reason is Reason.UNRESOLVED_EGRESS
            and verdict.subnet_id in stored
            and reason_of(stored[verdict.subnet_id].annotation) is not Reason.UNRESOLVED_EGRESS
            for verdict in self.everything
        )

    @property
    def snapshot(self) -> Snapshot | None:
        """The network that was read."""
        return self.evaluator.snapshot if self.evaluator else None

    @property
    def denied(self) -> tuple[str, ...]:
        """The optional reads that AWS denied, such as sts:AssumeRole: what they would show counts as unknown."""
        return self.snapshot.denied if self.snapshot else ()


def evaluate(services: RuleServices, event: ConfigEvent) -> Evaluation:
    """Decide what an event changes. It reports nothing.

    Raise ParameterError, ApiError or RecordError instead of deciding with incomplete information.
    """
    rule = _Rule(services, event, parse_parameters(event.parameters))
    evaluation = rule.evaluate_everything() if event.item is None else rule.evaluate_item(event.item)
    return rule.without_lost_sight(evaluation)


def evaluate_again(
    services: RuleServices, event: ConfigEvent, evaluator: Evaluator, reported: Mapping[str, StoredResult]
) -> Evaluation:
    """Read EC2 again after a report, and decide which of the reported results are to be replaced.

    Another invocation may have read EC2 after the reported read began, and reported nothing, because AWS Config still had
    an equal result. evaluator gave the reported results, which are by subnet. Raise ApiError or RecordError.
    """
    rule = _Rule(services, event, evaluator.parameters)
    vpc_ids = {evaluator.verdict(subnet_id).vpc_id for subnet_id in reported}
    return rule.evaluate_reported(reported, vpc_ids.pop() if len(vpc_ids) == 1 else None)


@dataclass(frozen=True, slots=True)
class _Rule:
    """The rule with its parameters, invoked with one event."""

    services: RuleServices
    event: ConfigEvent
    parameters: RuleParameters

    def evaluate_everything(self) -> Evaluation:
        """Return the verdicts of all subnets that differ from what AWS Config has stored, and DELETED for deleted ones.

        The stored results are read before the network, so that a subnet created in between does not count as deleted, and
        again after it, because other invocations may have reported in between.
        """
        stored = stored_results(self.services.aws.config, self.event.rule_name)
        time = datetime.now(UTC)
        evaluator = self._evaluator(None)
        subnet_ids = [subnet.id for subnet in evaluator.snapshot.listed_subnets]
        existing = [evaluator.verdict(subnet_id) for subnet_id in subnet_ids]
        deleted = [evaluator.verdict(subnet_id) for subnet_id in deleted_resource_ids(stored, subnet_ids)]
        latest = stored_results(self.services.aws.config, self.event.rule_name)
        return Evaluation(
            _changed((*existing, *deleted), time, latest), time, evaluator, stored=stored, everything=existing
        )

    def evaluate_reported(self, reported: Mapping[str, StoredResult], vpc_id: str | None) -> Evaluation:
        """Return the verdicts of reported subnets, all of one VPC if that is given, that differ from AWS Config's results.

        If AWS Config does not show a reported result yet, or removed one that is NOT_APPLICABLE, the reported one counts.
        It also counts if AWS Config's results cannot be read, which delays no report.
        """
        time = datetime.now(UTC)
        evaluator = self._evaluator(vpc_id or None)
        verdicts = list(map(evaluator.verdict, reported))
        try:
            stored = self._stored(reported)
        except ApiError:
            stored = {}
        latest = {
            subnet_id: max(result, stored.get(subnet_id, result), key=lambda known: known.ordering_timestamp)
            for subnet_id, result in reported.items()
        }
        evaluation = Evaluation(_changed(verdicts, time, latest), time, evaluator, stored=reported)
        return self.without_lost_sight(evaluation)

    def _stored(self, subnet_ids: Collection[str]) -> Mapping[str, StoredResult]:
        """Return what AWS Config has stored for some subnets. Raise ApiError."""
        subnets, name = ResourceType.SUBNET.value, self.event.rule_name
        return stored_results_of(self.services.aws.config, name, subnets, subnet_ids)

    def without_lost_sight(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation without verdicts that are only unknown because a read was denied.

        Losing sight must never look like an improvement. If a read under networkRoleArn is denied, an unknown path beyond
        a transit gateway is never reported. Without another optional read, a verdict is reported unless AWS Config has a
        result with another reason, because an account may never have granted the read.
        """
        evaluator = evaluation.evaluator
        if evaluator is None:
            return evaluation
        verdicts = (*evaluation.everything, *evaluation.verdicts)
        reads = {verdict.subnet_id: evaluator.lost_read(verdict) for verdict in verdicts}
        lost = {subnet_id: operation for subnet_id, operation in reads.items() if operation}
        if not lost:
            return evaluation
        of_role = set(evaluator.snapshot.denied_to_role)
        stored = evaluation.stored
        if stored is None:
            stored = self._stored(lost)
        kept = {
            subnet_id: operation
            for subnet_id, operation in lost.items()
            if operation in of_role
            or (subnet_id in stored and reason_of(stored[subnet_id].annotation) is not Reason.UNRESOLVED_EGRESS)
        }
        if not kept:
            return evaluation
        role_arn = str(self.parameters.network_role_arn) if of_role & set(kept.values()) else ""
        return replace(
            evaluation,
            verdicts=[verdict for verdict in evaluation.verdicts if verdict.subnet_id not in kept],
            lost=SightLostError(sorted(set(kept.values())), sorted(kept), role_arn),
        )

    def evaluate_item(self, item: Item) -> Evaluation:
        """Return the verdicts of the subnets that a changed resource concerns."""
        region = self.services.aws.region
        if item.get("awsRegion") not in (None, region):
            raise RecordError(
                "configurationItem", "awsRegion", item["awsRegion"], f"the Region of the function, {region}"
            )
        if cannot_change_path(item, self.event.diff):
            return _nothing("this change cannot change a path")
        change = self._change(item)
        if not change.resource_id:
            return replace(
                self.evaluate_everything(), note="evaluating all subnets: the item does not name its resource"
            )
        if change.resource_type is ResourceType.SUBNET and (change.deleted or self.event.left_scope):
            outcome = DELETED if change.deleted else LEFT_SCOPE
            verdict = verdict_without_network(self.event.account_id, region, change.resource_id, outcome)
            return Evaluation([verdict], datetime.now(UTC))
        if shows_no_change(item, self.event.diff):
            return self._evaluate_again(change)
        if change.resource_type is ResourceType.DIRECTORY_BUCKET:
            return self._evaluate_directory_bucket(change)
        if change.resource_type is ResourceType.VPC_ENDPOINT and change.vpc_id is None:
            note = "evaluating all subnets: the item does not name the endpoint's VPC"
            return replace(self.evaluate_differing(change), note=note)
        if change.earlier_subnet_ids is None:
            note = (
                "evaluating all subnets of the VPC: the item does not show which ones the route table governed before"
            )
            return replace(self.evaluate_differing(change), note=note)
        evaluation = self._evaluate_outside_vpc_ids(change) or self._evaluate_concerned(change)
        # Without any difference, the item of a discovered resource is either its first one, or one that is sent again.
        return self._without_known(evaluation) if self.event.diff == {} else evaluation

    def evaluate_differing(self, change: ChangedResource) -> Evaluation:
        """Return the verdicts of the subnets that a change may concern, as far as AWS Config has other results."""
        return self._without_known(self._evaluate_concerned(change))

    def _without_known(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation without the verdicts that AWS Config has, because the event may change none.

        AWS Config's results are read after the network: an equal result that another invocation replaced before this read
        of the network is then reported again. One that is replaced later is read again there (`evaluate_again`).
        """
        stored = self._stored([verdict.subnet_id for verdict in evaluation.verdicts])
        return replace(evaluation, verdicts=_changed(evaluation.verdicts, evaluation.time, stored))

    def _evaluate_again(self, change: ChangedResource) -> Evaluation:
        """Return the verdict of a subnet whose item shows no change, if AWS Config has another one.

        Other resources concern no subnet then, because each subnet in scope has a notification of its own. The stored
        result is also read before the network, so that only what was stored then is replaced whatever time it claims.
        """
        if change.resource_type is not ResourceType.SUBNET:
            return _nothing("the item shows no change, and every subnet has a notification of its own")
        stored = self._stored([change.resource_id])
        time = datetime.now(UTC)
        evaluation = self._evaluate_outside_vpc_ids(change)
        if evaluation is None:
            evaluator = self._evaluator(change.vpc_id)
            if change.resource_id not in evaluator.snapshot.subnets:
                evaluator = self._evaluator(None)  # It may be in another VPC than its item says.
            evaluation = Evaluation([evaluator.verdict(change.resource_id)], time, evaluator)
        return replace(self._without_known(evaluation), time=time, stored=stored)

    def _evaluate_directory_bucket(self, change: ChangedResource) -> Evaluation:
        """Return the verdicts that differ of all subnets if a bucket is the Region's first or was its last.

        A listing of buckets may lag behind the event. So a bucket that was created counts as present (scope=ALL). After
        a deletion the listing decides: while it shows a bucket, the verdicts stay, and the next scheduled notification
        corrects them.
        """
        if self.parameters.scope is not Scope.DIRECTORY_BUCKETS:
            return _nothing("directory buckets matter only if scope=DIRECTORY_BUCKETS")
        if not change.deleted:
            with_buckets = replace(self, parameters=replace(self.parameters, scope=Scope.ALL))
            return with_buckets.evaluate_differing(change)
        if unless_denied(self.services.snapshots.has_directory_buckets) is not False:
            return _nothing("the Region has other directory buckets, or they cannot be listed")
        return self.evaluate_differing(change)

    def _evaluate_outside_vpc_ids(self, change: ChangedResource) -> Evaluation | None:
        """Evaluate a change in a VPC that vpcIds leaves out from its item only; None if the network must be read.

        A subnet never changes its VPC. Other changes there concern included subnets only if their paths enter that VPC.
        """
        if change.vpc_id is None or self.parameters.includes(change.vpc_id):
            return None
        if change.resource_type is ResourceType.SUBNET:
            if not change.owner_id:
                return None
            account_id, region = self.event.account_id, self.services.aws.region
            outcome = outside_vpc_ids(account_id, change.owner_id)
            verdict = verdict_without_network(account_id, region, change.resource_id, outcome)
            return Evaluation([verdict], datetime.now(UTC))
        if not self.services.snapshots.may_be_entered(change.vpc_id):
            return _nothing("vpcIds leaves out every subnet concerned")
        return None

    def _evaluate_concerned(self, change: ChangedResource) -> Evaluation:
        """Return the verdicts of the subnets concerned.

        Of those that vpcIds leaves out, only the changed subnet itself is reported; a scheduled run reports the rest. The
        VPC of a deleted subnet is not known, so its verdict is reported, too.
        """
        reads_all = change.resource_type is ResourceType.BLOCK_PUBLIC_ACCESS_EXCLUSION
        time = datetime.now(UTC)
        evaluator = self._evaluator(None if reads_all else change.vpc_id, with_paths_into_vpc=True)
        concerned = concerned_subnets(change, evaluator.tracer)
        if change.vpc_id and not evaluator.snapshot.subnets.keys() >= {*concerned}:
            # A subnet is only deleted if no VPC has it: the item may name another VPC than the subnet's.
            return self._evaluate_concerned(replace(change, vpc_id=None))
        verdicts = [
            verdict
            for verdict in map(evaluator.verdict, concerned)
            if verdict.subnet_id == change.resource_id or not verdict.vpc_id or self.parameters.includes(verdict.vpc_id)
        ]
        return Evaluation(verdicts, time, evaluator)

    def _evaluator(self, vpc_id: str | None, *, with_paths_into_vpc: bool = False) -> Evaluator:
        """Read the network of one VPC, with what paths of other VPCs into it need, or of the whole account and Region."""
        snapshot = self.services.snapshots.read(
            self.event.account_id, vpc_id, self.parameters, with_paths_into_vpc=with_paths_into_vpc
        )
        return Evaluator(Tracer(snapshot), self.parameters)

    def _change(self, item: Item) -> ChangedResource:
        if not self.event.is_oversized:
            return change_of(item, self.event.diff)
        summarized = change_of(item, None)  # rejects another type before the item is fetched
        if not summarized.resource_id:
            return summarized
        recorded = whole_item(self.services.aws.config, item, self.event.ordering_timestamp)
        return change_of(recorded.item, None, recorded.previous)


def _nothing(reason: str) -> Evaluation:
    """Return an evaluation without verdicts, which says why."""
    return Evaluation([], datetime.now(UTC), note=f"nothing to evaluate: {reason}")


def _changed(verdicts: Iterable[Verdict], time: datetime, stored: Mapping[str, StoredResult]) -> list[Verdict]:
    """Return the verdicts of that time which differ from the stored results."""
    return [verdict for verdict in verdicts if is_changed(_result(verdict, time), stored.get(verdict.subnet_id))]


def _result(verdict: Verdict, time: datetime) -> StoredResult:
    return StoredResult(verdict.compliance.value, verdict.annotation, time)
