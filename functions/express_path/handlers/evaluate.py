"""The rule's Lambda: AWS Config says what changed, this says how the subnets concerned reach S3 Express."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from express_path.adapters.aws import unless_denied
from express_path.adapters.config_rule.events import ConfigEvent, parse_event
from express_path.adapters.config_rule.history import recorded_items
from express_path.adapters.config_rule.results import changed_verdicts, known_results, put_verdicts, vanished
from express_path.adapters.network_changes import cannot_change_path, change_of
from express_path.adapters.serialization import capacity_answer, verdict_answer
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Compliance
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.capacity import capacities, carrying
from express_path.domain.verdict.evaluator import (
    Account,
    Evaluator,
    Verdict,
    deleted_verdict,
    out_of_scope,
    outside_vpc_ids,
)
from express_path.domain.verdict.fanout import Change, ResourceType, concerned_subnets
from express_path.domain.verdict.parameters import Scope
from express_path.errors import EventError
from express_path.handlers.services import services

logger = Logger(service="express-path")
metrics = Metrics(namespace="ExpressPath", service="evaluate")

RETURNED = 1000
"""The most verdicts that an invocation returns: a response has an upper size, and AWS Config ignores it anyway
(https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html)."""


class Evaluation(NamedTuple):
    """The verdicts to report, and the snapshot they were made from; None where none was needed."""

    verdicts: list[Verdict]
    snapshot: Snapshot | None = None


@metrics.log_metrics
@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:  # noqa: ARG001  # the decorators use it
    """Evaluate what an AWS Config event concerns and report it; raises rather than conclude from partial knowledge."""
    logger.setLevel(os.environ.get("POWERTOOLS_LOG_LEVEL") or "INFO")  # Lambda's own level may be lower: template.yaml
    metrics.add_metric("EventsReceived", MetricUnit.Count, 1)
    config_event = parse_event(event)
    subject = (config_event.item or {}).get("resourceId", "everything")
    logger.set_correlation_id(f"{subject}@{config_event.ordering_timestamp.isoformat()}")
    verdicts, snapshot = sweep(config_event) if config_event.item is None else evaluate_item(config_event)
    posted = put_verdicts(services().aws.config, config_event, verdicts) if verdicts else 0
    logger.info("evaluated", extra={"posted": posted, "ruleName": config_event.rule_name})
    metrics.add_metric("VerdictsPosted", MetricUnit.Count, posted)
    flagged = sum(each.compliance is Compliance.NON_COMPLIANT for each in verdicts)
    metrics.add_metric("NonCompliantPosted", MetricUnit.Count, flagged)
    return {"posted": posted, "evaluations": [_returned(each, snapshot) for each in verdicts[:RETURNED]]}


def evaluate_item(event: ConfigEvent) -> Evaluation:
    """The verdicts on the subnets that a changed resource concerns."""
    item = event.item or {}
    region = services().aws.region
    if item.get("awsRegion") not in (None, region):
        raise EventError("awsRegion", item["awsRegion"], f"the Region of the function, {region}")
    if cannot_change_path(item, event.diff):
        logger.info("dropped: this change can turn no path")
        return Evaluation([])
    change = _change(event, item)
    if change.resource_type is ResourceType.DIRECTORY_BUCKET:
        return _of_directory_bucket(event, change)
    if change.resource_type is ResourceType.SUBNET and (change.deleted or event.left_scope):
        return Evaluation([_without_network(event, change)])
    if change.resource_type is ResourceType.VPC_ENDPOINT and change.vpc_id is None:
        logger.info("the item does not name the endpoint's VPC: everything is evaluated")
        return sweep(event)
    return _elsewhere(event, change) or _concerned(event, change)


def _of_directory_bucket(event: ConfigEvent, change: Change) -> Evaluation:
    """The verdicts that a directory bucket turns: of all subnets, if it is the Region's first or was its last.

    A listing of buckets may lag behind the event. A bucket that was created counts as present, so the scope leaves
    nothing out. Of one that was deleted the listing decides: while it still shows a bucket, the verdicts stay, and the
    next sweep corrects them.
    """
    if event.parameters.scope is not Scope.DIRECTORY_BUCKETS:
        logger.info("dropped: directory buckets matter only to scope=DIRECTORY_BUCKETS")
        return Evaluation([])
    if not change.deleted:
        return sweep(replace(event, parameters=replace(event.parameters, scope=Scope.ALL)))
    if unless_denied(services().snapshots.has_directory_buckets) is not False:
        logger.info("dropped: there are other directory buckets, or they cannot be listed")
        return Evaluation([])
    return sweep(event)


def _elsewhere(event: ConfigEvent, change: Change) -> Evaluation | None:
    """What a change in a VPC that vpcIds leaves out comes to, as far as its item tells; None where EC2 must be read.

    A subnet never changes its VPC. Other changes there concern subnets inside only through a transit gateway.
    """
    if change.vpc_id is None or event.parameters.includes(change.vpc_id):
        return None
    if change.resource_type is ResourceType.SUBNET:
        account, region = Account(event.account_id), services().aws.region
        owner_id = change.owner_id
        return Evaluation([outside_vpc_ids(account, region, change.resource_id, owner_id)]) if owner_id else None
    of_one_vpc = change.resource_type is ResourceType.VPC_ENDPOINT
    if of_one_vpc or not services().snapshots.leads_to_transit_gateway(change.vpc_id):
        logger.info("dropped: vpcIds leaves out every subnet concerned")
        return Evaluation([])
    return None


def _concerned(event: ConfigEvent, change: Change) -> Evaluation:
    """The verdicts on the subnets concerned; those that vpcIds leaves out are the sweep's, save a changed one."""
    evaluator = _judge(event, change.vpc_id)
    verdicts = [evaluator.verdict(each) for each in concerned_subnets(change, evaluator.tracer)]
    kept = [each for each in verdicts if each.subnet_id == change.resource_id or _is_inside(event, each)]
    return Evaluation(kept, evaluator.snapshot)


def _is_inside(event: ConfigEvent, verdict: Verdict) -> bool:
    """Whether vpcIds lets a subnet be evaluated; of a subnet that is gone, the VPC is not known."""
    return not verdict.vpc_id or event.parameters.includes(verdict.vpc_id)


def sweep(event: ConfigEvent) -> Evaluation:
    """The verdicts that AWS Config does not hold yet, of all subnets, and DELETED for those that are gone.

    What AWS Config holds is asked first: a subnet that appears in between is then not taken for gone.
    """
    known = known_results(services().aws.config, event.rule_name)
    evaluator = _judge(event, None)
    subnet_ids = [each.id for each in evaluator.snapshot.own_subnets]
    verdicts = changed_verdicts([evaluator.verdict(each) for each in subnet_ids], known)
    return Evaluation(verdicts + [evaluator.verdict(each) for each in vanished(known, subnet_ids)], evaluator.snapshot)


def _judge(event: ConfigEvent, vpc_id: str | None) -> Evaluator:
    snapshot = services().snapshots.read(event.account_id, vpc_id, event.parameters)
    for operation in snapshot.denied:
        logger.warning("denied: what this read would tell counts as unknown", extra={"operation": operation})
    return Evaluator(Tracer(snapshot), event.parameters)


def _change(event: ConfigEvent, item: Mapping[str, Any]) -> Change:
    if not event.is_oversized:
        return change_of(item, event.diff)
    change_of(item, None)  # refuses a summary without type or id before it is looked up
    recorded = recorded_items(services().aws.config, item)
    whole = {**(recorded[0] if recorded else {}), **item}
    return change_of(whole, None, recorded[1] if len(recorded) > 1 else None)


def _without_network(event: ConfigEvent, change: Change) -> Verdict:
    account = Account(event.account_id)
    region = services().aws.region
    if not change.deleted:
        return out_of_scope(account, region, change.resource_id)
    return deleted_verdict(account, region, change.resource_id)


def _returned(verdict: Verdict, snapshot: Snapshot | None) -> dict[str, Any]:
    found = capacities(carrying(verdict.reason, verdict.path), snapshot) if snapshot else ()
    return {**verdict_answer(verdict), "capacity": [capacity_answer(each) for each in found]}
