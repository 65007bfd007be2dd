"""A recorder's settings for the resource types whose changes invoke the rule."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from express_path.adapters.recorder import (
    TRIGGERS,
    WATCHED,
    Frequency,
    Recorder,
    RecorderStatus,
    Strategy,
)
from express_path_cli.installation.checks import (
    CheckState,
    check_deliveries,
    check_frequency,
    check_last_recording,
    check_recording,
    check_types,
)
from express_path_cli.installation.recorder import Delivery

NAT, TABLE, SUBNET, ENDPOINT = WATCHED
RARE = tuple(kind for kind in TRIGGERS if kind not in WATCHED)


def test_the_types_are_the_rules() -> None:
    """They are spelled as AWS Config spells them."""
    assert set(WATCHED) == {f"AWS::EC2::{name}" for name in ("RouteTable", "Subnet", "VPCEndpoint", "NatGateway")}
    assert set(RARE) == {
        "AWS::EC2::PrefixList",
        "AWS::EC2::VPCBlockPublicAccessExclusion",
        "AWS::EC2::VPCBlockPublicAccessOptions",
        "AWS::NetworkFirewall::Firewall",
    }


@pytest.mark.parametrize(
    ("strategy", "listed", "missing"),
    [
        (Strategy.ALL, (), ()),
        (Strategy.ALL, WATCHED, ()),
        (Strategy.INCLUSION, (), WATCHED),
        (Strategy.INCLUSION, TRIGGERS, ()),
        (Strategy.INCLUSION, (TABLE, SUBNET, "AWS::EC2::VPC"), (NAT, ENDPOINT)),
        (Strategy.EXCLUSION, (), ()),
        (Strategy.EXCLUSION, ("AWS::EC2::VPC",), ()),
        (Strategy.EXCLUSION, (NAT,), (NAT,)),
        (Strategy.EXCLUSION, WATCHED, WATCHED),
    ],
)
def test_recorded_types(strategy: Strategy, listed: tuple[str, ...], missing: tuple[str, ...]) -> None:
    """For each recording strategy, the missing types are named with the way to add them."""
    answer = check_types(Recorder("default", strategy, frozenset(listed)))
    assert answer.state is (CheckState.FAIL if missing else CheckState.OK)
    assert [resource_type for resource_type in WATCHED if resource_type in answer.finding] == list(missing)
    if missing:
        assert ("remove them" in answer.fix) is (strategy is Strategy.EXCLUSION)


@pytest.mark.parametrize(("strategy", "listed"), [(Strategy.INCLUSION, WATCHED), (Strategy.EXCLUSION, RARE)])
def test_types_that_rarely_change(strategy: Strategy, listed: tuple[str, ...]) -> None:
    """Each type that invokes the rule and is not recorded is named, with how late its changes are found."""
    answer = check_types(Recorder("default", strategy, frozenset(listed)))
    assert answer.state is CheckState.WARN
    assert all(kind in answer.finding for kind in RARE)
    assert "up to 24 hours later" in answer.finding


@pytest.mark.parametrize(
    ("default", "overrides", "daily"),
    [
        (Frequency.CONTINUOUS, {}, ()),
        (Frequency.DAILY, {}, TRIGGERS),
        (Frequency.DAILY, dict.fromkeys(TRIGGERS, Frequency.CONTINUOUS), ()),
        (Frequency.DAILY, {kind: Frequency.CONTINUOUS for kind in TRIGGERS if kind != NAT}, (NAT,)),
        (Frequency.CONTINUOUS, {SUBNET: Frequency.DAILY}, (SUBNET,)),
        (Frequency.CONTINUOUS, {"AWS::EC2::VPC": Frequency.DAILY}, ()),
    ],
)
def test_frequency(default: Frequency, overrides: Mapping[str, Frequency], daily: tuple[str, ...]) -> None:
    """An override takes precedence over the default; daily recording warns that verdicts are a day late."""
    answer = check_frequency(Recorder("default", Strategy.ALL, frozenset(), default, overrides))
    assert answer is not None
    assert answer.state is (CheckState.WARN if daily else CheckState.OK)
    assert [resource_type for resource_type in TRIGGERS if resource_type in answer.finding] == list(daily)
    assert ("a day late" in answer.finding) is bool(daily)


def test_a_stopped_recorder_fails() -> None:
    """The finding says since when, if known, and the fix says how to start it."""
    assert check_recording(RecorderStatus("default", recording=True)).state is CheckState.OK
    stopped = check_recording(RecorderStatus("main", recording=False, changed=datetime(2026, 1, 31, 9, 30, tzinfo=UTC)))
    assert (stopped.state, "since 2026-01-31 09:30 UTC" in stopped.finding) == (CheckState.FAIL, True)
    assert stopped.command.endswith("--configuration-recorder-name main")
    assert "since" not in check_recording(RecorderStatus("main", recording=False)).finding


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("SUCCESS", CheckState.OK),
        ("Success", CheckState.OK),
        ("PENDING", CheckState.OK),
        ("", CheckState.OK),
        ("FAILURE", CheckState.FAIL),
        ("Failure", CheckState.FAIL),
    ],
)
def test_the_last_recording_event(status: str, state: CheckState) -> None:
    """Only a failure fails, in any spelling, and its reason is reported."""
    answer = check_last_recording(RecorderStatus("default", True, status, "AccessDenied: no"))
    assert answer.state is state
    assert ("AccessDenied: no" in answer.finding) is (state is CheckState.FAIL)


def test_deliveries_that_fail_are_named() -> None:
    """Each failed kind of delivery is named with its reason; one that does not apply is OK."""
    fine = [Delivery("history", "SUCCESS"), Delivery("stream", "NOT_APPLICABLE")]
    assert check_deliveries("bucket", fine).state is CheckState.OK
    broken = check_deliveries("bucket", [*fine, Delivery("snapshot", "Failure", "NoSuchBucket: gone")])
    assert (broken.state, "snapshot: NoSuchBucket: gone" in broken.finding) == (CheckState.WARN, True)
    assert "no reason given" in check_deliveries("bucket", [Delivery("history", "FAILURE")]).finding
