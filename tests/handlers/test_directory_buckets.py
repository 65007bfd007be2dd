"""With scope=DIRECTORY_BUCKETS, creating or deleting directory buckets re-evaluates the Region's subnets."""

from config_rule_sandbox.server import Sandbox
from tests.support.network import Private
from tests.support.rule import Item, Rule

SCOPED = {"scope": "DIRECTORY_BUCKETS"}
FIRST, SECOND = "lake--use1-az4--x-s3", "cache--use1-az5--x-s3"


def create(sandbox: Sandbox, name: str) -> None:
    """Create a directory bucket."""
    zone = name.split("--")[1]
    sandbox.client("s3").create_bucket(
        Bucket=name,
        CreateBucketConfiguration={
            "Location": {"Type": "AvailabilityZone", "Name": zone},
            "Bucket": {"Type": "Directory", "DataRedundancy": "SingleAvailabilityZone"},
        },
    )


def delete(sandbox: Sandbox, name: str) -> None:
    """Delete a directory bucket."""
    sandbox.client("s3").delete_bucket(Bucket=name)


def item(status: str, name: str = FIRST) -> Item:
    """Return the fields of a bucket's item that the function reads."""
    return {
        "awsAccountId": "123456789012",
        "configurationItemCaptureTime": "2026-02-13T05:48:51.341Z",
        "configurationItemStatus": status,
        "resourceType": "AWS::S3Express::DirectoryBucket",
        "resourceId": name,
    }


def test_first_bucket_and_last_one(sandbox: Sandbox, vpc: Private) -> None:
    """The first bucket makes subnets NON_COMPLIANT; a second one, its deletion, and the sweep change nothing."""
    rule = Rule(sandbox, SCOPED)
    rule.take_as_known()
    create(sandbox, FIRST)
    assert rule.changes()[vpc.subnet] == "NAT_GATEWAY"
    assert rule.held()[vpc.subnet].reason == "NAT_GATEWAY"
    create(sandbox, SECOND)
    assert rule.changes() == {}
    delete(sandbox, FIRST)
    assert rule.changes() == {}
    assert rule.sweep() == {}
    delete(sandbox, SECOND)
    assert rule.changes()[vpc.subnet] == "NO_DIRECTORY_BUCKETS"
    assert rule.held()[vpc.subnet].compliance == "NOT_APPLICABLE"


def test_scope_all_ignores_buckets(sandbox: Sandbox, vpc: Private) -> None:
    """With scope=ALL, events of buckets make no call."""
    rule = Rule(sandbox)
    create(sandbox, FIRST)
    event = rule.event(item("ResourceDiscovered"))
    sandbox.calls.clear()
    assert rule.invoke(event)["evaluations"] == []
    assert list(sandbox.calls) == []
    assert vpc.subnet not in rule.held()


def test_created_bucket_that_is_not_listed_yet_counts(sandbox: Sandbox, vpc: Private) -> None:
    """If the list of buckets is older than the event, the next sweep uses the list again."""
    rule = Rule(sandbox, SCOPED)
    assert rule.tell(item("ResourceDiscovered"))[vpc.subnet] == "NAT_GATEWAY"
    assert rule.sweep()[vpc.subnet] == "NO_DIRECTORY_BUCKETS"


def test_deleted_bucket_that_is_still_listed_decides_nothing(sandbox: Sandbox, vpc: Private) -> None:
    """While a bucket is listed, NON_COMPLIANT subnets stay so; when none is listed, the sweep corrects them."""
    rule = Rule(sandbox, SCOPED)
    create(sandbox, FIRST)
    rule.sweep()
    assert rule.tell(item("ResourceDeleted")) == {}
    assert rule.held()[vpc.subnet].reason == "NAT_GATEWAY"
    delete(sandbox, FIRST)
    assert rule.sweep()[vpc.subnet] == "NO_DIRECTORY_BUCKETS"


def test_buckets_that_cannot_be_listed_keep_the_findings(sandbox: Sandbox, vpc: Private) -> None:
    """If buckets cannot be listed, there may be another one, so the verdicts stay."""
    rule = Rule(sandbox, SCOPED)
    create(sandbox, FIRST)
    rule.sweep()
    delete(sandbox, FIRST)
    sandbox.faults.deny("s3", "ListDirectoryBuckets")
    assert rule.tell(item("ResourceDeletedNotRecorded")) == {}
    assert rule.held()[vpc.subnet].reason == "NAT_GATEWAY"
