"""The rule's Lambda function: parse an event of AWS Config, evaluate it, report the result, and publish it."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from itertools import chain
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from express_path.adapters.aws import BRIEF_CONFIG, Aws
from express_path.adapters.config_rule.events import ConfigEvent, parse_event
from express_path.adapters.config_rule.results import put_evaluations
from express_path.adapters.event_bus import put_entries
from express_path.adapters.ledger import Ledger
from express_path.adapters.network_reader import SnapshotReader
from express_path.adapters.remediation import read_remediation
from express_path.adapters.runbooks import runbooks_of
from express_path.adapters.serialization import verdict_with_capacity
from express_path.adapters.unhealed import waiting_problem, waiting_subnets, without_decided
from express_path.domain.verdict.fanout import ResourceType
from express_path.domain.verdict.summary import summarize
from express_path.errors import ApiError, ExpressPathError
from express_path.evaluation import Evaluation, RuleServices, evaluate, evaluate_again
from express_path.events.schema import Fault
from express_path.events.writer import EventEntry, start_command
from express_path.fields import not_in_future
from express_path.handlers.gauges import report_sweep
from express_path.publishing import Publication, StoredResults, results_before, rule_run

logger = Logger(service="express-path")

FAILED = "evaluation failed"
"""The message about an invocation that failed. The command reads it (express_path_cli/installation/rule.py)."""
MAX_RETURNED = 1000
"""The most verdicts that an invocation returns. Lambda limits the size of a response, and AWS Config ignores it
(https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html)."""


def compose_services(environment: Mapping[str, str]) -> RuleServices:
    """Make the services with the settings of the function's environment."""
    aws = Aws.connect(environment.get("AWS_REGION"))
    return RuleServices(
        aws,
        SnapshotReader(aws, environment.get("NETWORK_ROLE_EXTERNAL_ID", "")),
        environment.get("EVENT_BUS_NAME", "default"),
        environment.get("STACK_ID", ""),
        environment.get("LEDGER_TABLE_NAME", ""),
    )


@cache
def _warm_services() -> RuleServices:
    """Return the services of this runtime, made at its first invocation."""
    return compose_services(os.environ)


@logger.inject_lambda_context(clear_state=True)
def handler(
    event: dict[str, Any],
    context: LambdaContext,  # noqa: ARG001  # the decorator uses it
    services: RuleServices | None = None,
) -> dict[str, Any]:
    """Evaluate an event and report the result to AWS Config. Lambda passes no services, so the runtime's are used.

    A failure is logged with the account, the resource, and the error, and without the result token. Whoever has that
    could report results for the rule.
    """
    logger.append_keys(accountId="unknown", resourceId="unknown")
    try:
        return _answer(event, services)
    except Exception as error:
        logger.critical(FAILED, extra={"error": f"{type(error).__name__}: {error}"})
        raise


def _answer(event: dict[str, Any], services: RuleServices | None) -> dict[str, Any]:
    config_event = parse_event(event)
    subject = (config_event.item or {}).get("resourceId", "everything")
    logger.append_keys(accountId=config_event.account_id, resourceId=subject)
    logger.set_correlation_id(f"{subject}@{config_event.ordering_timestamp.isoformat()}")
    not_in_future(config_event.ordering_timestamp, datetime.now(UTC), "orderingTimestamp", "invokingEvent")
    services = services or _warm_services()
    evaluation = evaluate(services, config_event)
    _log_notes(evaluation)
    publication = _publication(services, config_event, evaluation)
    accepted = _report(services, config_event, publication)
    posted = len(accepted) + _settle(services, config_event, publication, accepted)
    if evaluation.lost:
        raise evaluation.lost
    returned = evaluation.verdicts[:MAX_RETURNED]
    return {
        "posted": posted,
        "evaluations": [verdict_with_capacity(verdict, evaluation.snapshot) for verdict in returned],
    }


def _log_notes(evaluation: Evaluation) -> None:
    if evaluation.note:
        logger.info(evaluation.note)
    for operation in evaluation.denied:
        logger.warning("access denied: what this read would show counts as unknown", extra={"operation": operation})


ROUNDS = 5
"""How often an invocation reads again what it reported."""


def _settle(services: RuleServices, event: ConfigEvent, publication: Publication, accepted: list[str]) -> int:
    """Read again after a report, and report what differs, until a read shows what AWS Config has; return how many were reported.

    An invocation that reports nothing has seen, after its read of EC2, that AWS Config has its results. An invocation that
    reports something else later reads again, here. So what was read last stays, whichever invocation reads, reports, or
    ends first (docs/decisions/0001-configuration-items-are-triggers.md).
    """
    posted = 0
    for _ in range(ROUNDS):
        evaluator, reported = publication.evaluation.evaluator, publication.replacing(accepted)
        if event.is_test or evaluator is None or not reported:
            return posted
        evaluation = evaluate_again(services, event, evaluator, reported)
        publication = _publication(services, event, evaluation)
        accepted = _put(services, event, publication)
        _publish(services, publication.changes(accepted))
        posted += len(accepted)
        if accepted:
            logger.info("read again", extra={"posted": len(accepted), "ruleName": event.rule_name})
        if evaluation.lost:
            raise evaluation.lost
    logger.warning("each read of the network showed another path", extra={"reads": ROUNDS})
    return posted


def _publication(services: RuleServices, event: ConfigEvent, evaluation: Evaluation) -> Publication:
    """Return the events about an evaluation, before it is reported."""
    run = rule_run(event, evaluation, services.aws.region)
    return Publication(run, evaluation, _results_before(services, event, evaluation))


def _put(services: RuleServices, event: ConfigEvent, publication: Publication) -> list[str]:
    """Report the verdicts to AWS Config; return the subnets whose results it accepted.

    If a part of the report fails, the changes in the other part are published, because the next attempt finds them in
    AWS Config already.
    """
    accepted: list[str] = []
    try:
        accepted.extend(put_evaluations(services.aws.config, event, ResourceType.SUBNET, publication.reported))
    except ExpressPathError:
        _publish(services, [] if event.is_test else publication.changes(accepted))
        raise
    return accepted


def _report(services: RuleServices, event: ConfigEvent, publication: Publication) -> list[str]:
    """Report the verdicts to AWS Config, then publish them; return the subnets whose results it accepted.

    Events never prevent a report.
    """
    evaluation = publication.evaluation
    accepted = _put(services, event, publication)
    logger.info("evaluated", extra={"posted": len(accepted), "ruleName": event.rule_name})
    if event.is_test:
        return accepted
    # A sweep that lost sight has no snapshot: consumers would take the subnets that it lacks for resolved. It has no
    # end either, so that the health function does not take it for one.
    if event.item is not None or evaluation.lost:
        _publish(services, publication.changes(accepted))
        return accepted
    summary = summarize(evaluation.everything)
    waiting, waiting_faults = _waiting(services, publication)
    rejected = _publish(services, chain(publication.changes(accepted), publication.snapshot()))
    healing = runbooks_of(event.rule_name)[:2] if services.stack_id else ()
    report_sweep(services.aws, publication.run, summary, healing, logger)
    faults = [*_faults(evaluation, rejected), *waiting_faults]
    _publish(services, [publication.completed(summary, waiting, faults)])
    return accepted


def _publish(services: RuleServices, entries: Iterable[EventEntry]) -> str:
    """Put events on the bus; return an empty text, or why EventBridge did not take some.

    These are logged, and the next sweep makes them good: its snapshot has every verdict, and the
    integrations derive the changes that they missed from it.
    """
    rejected = put_entries(services.aws, services.bus_name, entries)
    if not rejected:
        return ""
    first = f"{rejected[0].code}: {rejected[0].message}"
    logger.error("events not published", extra={"events": len(rejected), "error": first})
    return first


def _faults(evaluation: Evaluation, rejected: str) -> Iterator[Fault]:
    """Yield what a sweep shows to be broken. rejected: why EventBridge did not take its events, or an empty text."""
    if rejected:
        yield Fault("event bus", f"EventBridge does not take the events of the rule: {rejected}")
    if evaluation.became_unresolved:
        yield Fault(
            "paths",
            f"{evaluation.became_unresolved} paths became unknown (UNRESOLVED_EGRESS), although no recorded resource "
            "changed: a resource of another account did, or the function may read less",
        )


def _waiting(services: RuleServices, publication: Publication) -> tuple[tuple[str, ...] | None, Sequence[Fault]]:
    """Return the subnets that AWS Config should have healed and has not started for a day, and whether that is a fault.

    None of them is known if a read fails, which is a fault, too.
    """
    component = "heals"
    try:
        waiting = _find_waiting(services, publication)
    except ExpressPathError as error:
        return None, [Fault(component, f"whether subnets wait for a heal could not be checked: {error}")]
    problem = waiting_problem(waiting, start_command(services.aws.region))
    return tuple(waiting), [Fault(component, problem)] if problem else ()


def _find_waiting(services: RuleServices, publication: Publication) -> list[str]:
    """Return the subnets that wait for a heal: none in mode OFF, or while heals are stopped. Raise ApiError, RecordError."""
    aws = replace(services.aws, client_config=BRIEF_CONFIG)
    since, rule_name = publication.healable_since(), publication.run.rule_name
    remediation = read_remediation(aws.config, rule_name) if since and services.ledger_table else None
    if remediation is None or not remediation.automatic:
        return []
    ledger = Ledger(aws.dynamodb, services.ledger_table)
    if ledger.current_stop():
        return []
    tables = {
        verdict.subnet_id: verdict.route_table_id
        for verdict in publication.evaluation.everything
        if verdict.route_table_id
    }
    undecided = partial(without_decided, ledger, tables=tables)
    return waiting_subnets(aws.config, rule_name, since, datetime.now(UTC), undecided)


def _results_before(services: RuleServices, event: ConfigEvent, evaluation: Evaluation) -> StoredResults:
    """Return what AWS Config has before the report, None if it cannot be read: then all verdicts are published."""
    try:
        return results_before(services.aws, event, evaluation)
    except ApiError as error:
        logger.warning(
            "the stored results cannot be read, so every verdict is published as a change", extra={"error": str(error)}
        )
        return None
