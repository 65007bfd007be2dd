"""The events that the rule publishes: what is built matches the JSON Schema, and is read back unchanged."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from express_path.domain.network.resources import TargetKind
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.path.tracing import Tracer
from express_path.domain.remedy.remedies import remedy
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import DELETED, Evaluator, verdict_without_network
from express_path.domain.verdict.parameters import RuleParameters
from express_path.domain.verdict.summary import ExcludedSubnets, Summary
from express_path.events.schema import (
    PublishedVerdict,
    RuleRun,
    SweepCompleted,
    VerdictChanged,
    VerdictSnapshot,
)
from express_path.events.writer import MAX_BYTES, EventEntry, changed_entry, completed_entry, snapshot_entries
from express_path_cli.schema.command import FILES, Schema
from tests.support.make import ACCOUNT, REGION, by_id, endpoint, route, snapshot, subnet, table, verdict_on
from tests.support.verdict_events import parse_verdict_event

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads(FILES[Schema.EVENTS].read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
TIME = datetime(2026, 11, 22, 23, 14, 5, 123000, tzinfo=UTC)
RUN = RuleRun(ACCOUNT, REGION, "s3express-no-nat-path", TIME, "sweep-1")


def as_published(given: Remedy | None) -> Remedy | None:
    """Return a remedy as an event has it: its note is part of the text."""
    return given and replace(given, text=given.advice, note="")


NETWORK = snapshot(
    subnets=by_id(subnet(availability_zone_id="use1-az1")),
    route_tables=by_id(table("rtb-1", route("0.0.0.0/0", "nat-1"), subnets=("subnet-1",))),
)
TAGS = {"owner": "payments", "légal": ""}
FLAGGED = PublishedVerdict(
    verdict_on(NETWORK), as_published(remedy(verdict_on(NETWORK), Evaluator(Tracer(NETWORK), RuleParameters()))), TAGS
)
GONE = PublishedVerdict(verdict_without_network(ACCOUNT, REGION, "subnet-0e9", DELETED))
CHANGED = VerdictChanged(replace(RUN, sweep_id=None), FLAGGED, Compliance.COMPLIANT, Reason.INTERNET_GATEWAY)
COMPLETED = SweepCompleted(
    RUN,
    1,
    Summary(
        3,
        {Compliance.COMPLIANT: 0, Compliance.NON_COMPLIANT: 1, Compliance.NOT_APPLICABLE: 2},
        {Reason.NAT_GATEWAY: 1, Reason.EXCLUDED: 2},
        (ExcludedSubnets("team=légal", 1), ExcludedSubnets("vpcIds", 1)),
    ),
    ("subnet-0a1",),
)


def delivered(entry: EventEntry) -> dict[str, Any]:
    """Return an entry as EventBridge delivers it, which must match the schema."""
    event = {
        "version": "0",
        "id": "17793124-05d4-b198-2fde-7ededc63b103",
        "detail-type": entry.detail_type,
        "source": entry.source,
        "account": ACCOUNT,
        "time": entry.time.isoformat(timespec="seconds"),
        "region": REGION,
        "resources": list(entry.resources),
        "detail": json.loads(entry.detail),
    }
    VALIDATOR.validate(event)
    return event


@pytest.mark.parametrize(
    "event",
    [
        CHANGED,
        VerdictChanged(CHANGED.run, GONE),
        replace(CHANGED, old_compliance=Compliance.NON_COMPLIANT, old_reason=None),
    ],
)
def test_a_change_is_read_back_unchanged(event: VerdictChanged) -> None:
    """An event about one subnet names the subnet's ARN, and says the same after EventBridge delivered it."""
    entry = changed_entry(event)
    assert entry.resources == (f"arn:aws:ec2:{REGION}:{ACCOUNT}:subnet/{event.new.verdict.subnet_id}",)
    assert entry.time == TIME
    assert parse_verdict_event(delivered(entry)) == event


def test_tags_never_make_an_event_too_large() -> None:
    """Of the tags of a subnet, its route table, and its VPC, an event has 50: the subnet's own first."""
    tags = {f"{number:03}" + "😀" * 125: "😀" * 256 for number in range(150)}
    entry = changed_entry(replace(CHANGED, new=replace(FLAGGED, tags=tags)))
    assert entry.size < MAX_BYTES
    assert list(delivered(entry)["detail"]["tags"]) == list(tags)[:50]


def test_a_change_has_the_documented_fields() -> None:
    """The detail of a flagged subnet: every field by name, and the remedy with its command."""
    detail = json.loads(changed_entry(CHANGED).detail)
    remedy_shown = detail.pop("remedy")
    assert detail == {
        "schemaVersion": 1,
        "accountId": ACCOUNT,
        "region": REGION,
        "ruleName": "s3express-no-nat-path",
        "orderingTimestamp": "2026-11-22T23:14:05.123Z",
        "sweepId": None,
        "vpcId": "vpc-1",
        "subnetId": "subnet-1",
        "availabilityZoneId": "use1-az1",
        "routeTableId": "rtb-1",
        "old": {"compliance": "COMPLIANT", "reason": "INTERNET_GATEWAY"},
        "new": {"compliance": "NON_COMPLIANT", "reason": "NAT_GATEWAY"},
        "annotation": "NAT_GATEWAY: S3 Express traffic crosses a NAT gateway; route 0.0.0.0/0 -> nat-1 in rtb-1",
        "path": [{"kind": "NAT_GATEWAY", "id": "nat-1", "destination": "0.0.0.0/0"}],
        "tags": TAGS,
    }
    assert remedy_shown["text"].startswith("Associate route table rtb-1 with a new gateway endpoint")
    assert remedy_shown["text"].endswith("associate the route table with that one.")
    assert remedy_shown["command"].startswith("aws ec2 create-vpc-endpoint")
    assert remedy_shown["url"].startswith("https://docs.aws.amazon.com/")


def test_a_completed_sweep_is_read_back_unchanged() -> None:
    """The counts, the reasons that occur, and what excludes subnets are the same after EventBridge delivered them."""
    assert parse_verdict_event(delivered(completed_entry(COMPLETED))) == COMPLETED


def test_a_snapshot_fills_as_few_entries_as_its_size_allows() -> None:
    """700 verdicts need several parts: none is too large, none could have been left out, and no verdict is lost."""
    verdicts = [
        replace(FLAGGED, verdict=replace(FLAGGED.verdict, subnet_id=f"subnet-{number}")) for number in range(700)
    ]
    entries = list(snapshot_entries(RUN, verdicts))
    events = [parse_verdict_event(delivered(entry)) for entry in entries]
    assert all(isinstance(event, VerdictSnapshot) and event.run == RUN for event in events)
    assert [(event.part, event.parts) for event in events] == [(part + 1, len(events)) for part in range(len(events))]
    assert [verdict for event in events for verdict in event.verdicts] == verdicts
    sizes = [entry.size for entry in entries]
    assert max(sizes) <= MAX_BYTES
    assert min(sizes[:-1]) > MAX_BYTES * 0.95 - len(changed_entry(CHANGED).detail)


def test_a_snapshot_without_subnets_is_one_empty_part() -> None:
    """Consumers get a part even if the account has no subnets."""
    (entry,) = snapshot_entries(RUN, [])
    assert parse_verdict_event(delivered(entry)) == VerdictSnapshot(RUN, 1, 1, ())


def test_timestamps_are_utc() -> None:
    """A time in another zone is written in UTC, and denotes the same moment."""
    run = replace(RUN, ordering_timestamp=TIME.astimezone(timezone(timedelta(hours=5))))
    event = parse_verdict_event(delivered(changed_entry(replace(CHANGED, run=run))))
    assert event.run.ordering_timestamp == TIME


def test_documented_example_is_what_is_published() -> None:
    """The example in docs/integrations.md matches the schema, and is what the rule publishes about that network."""
    page = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
    [shown] = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL) if '"version"' in block]
    VALIDATOR.validate(shown)
    number = "0a1b2c3d4e5f60718"
    network = snapshot(
        subnets=by_id(subnet(f"subnet-{number}", f"vpc-{number}", availability_zone_id="use1-az4")),
        route_tables=by_id(
            table(
                f"rtb-{number}",
                route("0.0.0.0/0", f"nat-{number}"),
                subnets=(f"subnet-{number}",),
                vpc_id=f"vpc-{number}",
            )
        ),
        vpc_endpoints=by_id(endpoint(f"vpce-{number}", vpc_id=f"vpc-{number}")),
    )
    verdict = verdict_on(network, f"subnet-{number}")
    new = PublishedVerdict(
        verdict, remedy(verdict, Evaluator(Tracer(network), RuleParameters())), shown["detail"]["tags"]
    )
    change = VerdictChanged(replace(RUN, sweep_id=None), new, Compliance.COMPLIANT, Reason.ENDPOINT)
    entry = changed_entry(change)
    assert json.loads(entry.detail) == shown["detail"]
    assert list(entry.resources) == shown["resources"]


def test_schema_lists_the_values_of_the_code() -> None:
    """The schema's reasons, compliance types, and kinds of hops are those that verdicts have."""
    found = SCHEMA["$defs"]
    assert found["reason"]["enum"] == [reason for reason in Reason if reason is not Reason.LOSES_PATH]
    assert found["compliance"]["enum"] == list(Compliance)
    assert found["hop"]["properties"]["kind"]["enum"] == list(TargetKind)
