"""Verdicts that changed as OCSF findings on an event bus, and the table that remembers what was published.

docs/decisions/0018-integrations-derive-changes.md says why there is a table.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import Aws, attributes, calling, pages
from express_path.adapters.event_bus import put_entries
from express_path.domain.findings.ocsf import CLOSE, CREATE, UPDATE, Activity, ocsf_finding
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path.errors import ApiError
from express_path.events.writer import Entry, dump
from express_path.fields import count, identifier, member, optional_free_text
from express_path_integrations.findings import Rejected, RuleScope, StoredVerdict, Written, by_subnet, chunks

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import BatchGetItemInputTypeDef

SOURCE, DETAIL_TYPE = "express-path.ocsf", "Compliance Finding"
BATCH = 100
"""The most items of one read (botocore model: dynamodb KeyList)."""
_NO_RESULT = "AWS Config has no result for this subnet anymore: it was deleted, or the rule does not apply to it."
_REPLACED = "ConditionalCheckFailedException"


@dataclass(frozen=True, slots=True)
class Published:
    """What was published last about a subnet. The reason is empty if AWS Config had no result anymore."""

    subnet_id: str
    at: datetime
    compliance: Compliance
    reason: str


@dataclass(frozen=True, slots=True)
class FindingToPublish:
    """A finding to publish, and what is known about the subnet once it is published."""

    entry: Entry
    published: Published


@dataclass(frozen=True, slots=True)
class PublishedFindings:
    """The findings that were published of one rule. Subnets that were never NON_COMPLIANT have findings too."""

    aws: Aws
    scope: RuleScope
    bus_name: str
    table_name: str
    covers_passing = True

    def of_subnets(self, subnet_ids: Sequence[str]) -> dict[str, list[Published]]:
        """Return what was published last about these subnets, by subnet."""
        return by_subnet(_published(item) for chunk in chunks(subnet_ids, BATCH) for item in self._items(chunk))

    def active(self) -> dict[str, list[Published]]:
        """Return what was published last about all subnets to which the rule applied then, by subnet."""
        items = pages(self.aws.dynamodb, "dynamodb", "scan", "Items", TableName=self.table_name, ConsistentRead=True)
        published = map(_published, items)
        return by_subnet(row for row in published if row.compliance is not Compliance.NOT_APPLICABLE)

    def concern(self, findings: Sequence[Published], stored: StoredVerdict) -> bool:
        """Return whether the compliance or the reason is newer than what was published, and differs from it."""
        known = findings[0] if findings else None
        return (known is None or known.at < stored.at) and _is_change(known, _to_publish(stored))

    def changes(self, findings: Sequence[Published], stored: StoredVerdict) -> list[FindingToPublish]:
        """Return the finding to publish about a subnet that is concerned."""
        known, now = findings[0] if findings else None, _to_publish(stored)
        return [FindingToPublish(self._entry(known, now, stored), now)]

    def write(self, changes: Sequence[FindingToPublish]) -> Written:
        """Publish findings, and then remember each that EventBridge took. Raise ApiError if one cannot be remembered.

        Such a finding is published again.
        """
        failed = put_entries(self.aws, self.bus_name, [change.entry for change in changes])
        failures = {id(failure.entry): failure for failure in failed}
        rejected = []
        for change in changes:
            failure = failures.get(id(change.entry))
            if failure:
                rejected.append(Rejected(change.published.subnet_id, failure.code, failure.message))
            else:
                self._remember(change.published)
        return Written(len(changes) - len(rejected), tuple(rejected))

    def _items(self, subnet_ids: Sequence[str]) -> Iterable[Mapping[str, Any]]:
        """Yield the items of up to 100 subnets. DynamoDB may answer for only some of them at a time."""
        keys = [{"subnetId": {"S": subnet_id}} for subnet_id in subnet_ids]
        request: BatchGetItemInputTypeDef = {"RequestItems": {self.table_name: {"Keys": keys, "ConsistentRead": True}}}
        while request["RequestItems"]:
            with calling("dynamodb:BatchGetItem"):
                answer = self.aws.dynamodb.batch_get_item(**request)
            yield from answer["Responses"].get(self.table_name, [])
            request = {"RequestItems": answer.get("UnprocessedKeys", {})}

    def _remember(self, published: Published) -> None:
        """Write what was published, unless another invocation has published something newer."""
        at = {"N": str(_milliseconds(published.at))}
        item = {
            "subnetId": {"S": published.subnet_id},
            "observedAt": at,
            "compliance": {"S": published.compliance.value},
            "reason": {"S": str(published.reason)},
        }
        try:
            with calling("dynamodb:PutItem"):
                self.aws.dynamodb.put_item(
                    TableName=self.table_name,
                    Item=item,
                    ConditionExpression="attribute_not_exists(subnetId) OR observedAt < :at",
                    ExpressionAttributeValues={":at": at},
                )
        except ApiError as error:
            if error.code != _REPLACED:
                raise

    def _entry(self, known: Published | None, now: Published, seen: StoredVerdict) -> Entry:
        """Return the event with the finding. Its time is the one at which the stored result was read."""
        verdict = seen.verdict or self._without_result(seen.subnet_id)
        milliseconds = _milliseconds(now.at)
        activity, rule_name = _activity(known, now), self.scope.rule_name
        finding = ocsf_finding(verdict, seen.remedy, seen.tags, milliseconds, activity, rule_name)
        finding["metadata"]["uid"] = f"{finding['finding_info']['uid']}/{milliseconds}"
        if seen.verdict is None:
            del finding["compliance"]["status_code"]
        return Entry(SOURCE, DETAIL_TYPE, (finding["resources"][0]["uid"],), now.at, dump(finding))

    def _without_result(self, subnet_id: str) -> Verdict:
        """Return a verdict for a finding about a subnet without a result; its reason is not shown."""
        scope, compliance = self.scope, Compliance.NOT_APPLICABLE
        return Verdict(scope.account_id, scope.region, "", subnet_id, "", None, compliance, Reason.DELETED, _NO_RESULT)


def _published(item: Mapping[str, Any]) -> Published:
    """Read an item of the table. Raise RecordError."""
    found = attributes(item)
    subnet_id = identifier(found, "subnetId", "published finding")
    place = f"published finding of {subnet_id}"
    at = datetime.fromtimestamp(count(found, "observedAt", place) / 1000, UTC)
    compliance = member(found, "compliance", place, Compliance)
    return Published(subnet_id, at, compliance, optional_free_text(found, "reason", place))


def _to_publish(stored: StoredVerdict) -> Published:
    """Return what a finding about a subnet says now."""
    if stored.verdict is None:
        return Published(stored.subnet_id, stored.at, Compliance.NOT_APPLICABLE, "")
    return Published(stored.subnet_id, stored.at, stored.verdict.compliance, stored.verdict.reason)


def _milliseconds(time: datetime) -> int:
    return round(time.timestamp() * 1000)


def _is_change(known: Published | None, now: Published) -> bool:
    """Return whether a subnet's compliance or reason changed.

    If nothing was published about a subnet, it has not changed while the rule does not apply to it, unless it was
    deleted. What is not applicable without a known reason stays so, whatever the reason turns out to be.
    """
    is_out = now.compliance is Compliance.NOT_APPLICABLE
    if known is None:
        return not is_out or now.reason == Reason.DELETED
    if is_out and known.compliance is Compliance.NOT_APPLICABLE and not (known.reason and now.reason):
        return False
    return (known.compliance, known.reason) != (now.compliance, now.reason)


def _activity(known: Published | None, now: Published) -> Activity:
    """Return what happened to the finding: it exists while the subnet is NON_COMPLIANT."""
    failed = known is not None and known.compliance is Compliance.NON_COMPLIANT
    if now.compliance is Compliance.NON_COMPLIANT:
        return UPDATE if failed else CREATE
    return CLOSE if failed else UPDATE
