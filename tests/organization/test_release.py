"""A release in an organization: a bad version is caught by the shadow or in the canary, and nothing else gets it."""

import json
from pathlib import Path
from typing import cast

import pytest
from typer.testing import Result

from express_path.domain.network.resources import TargetKind
from express_path.domain.path import hops
from express_path_cli.org import release
from sandbox.server import Sandbox
from sandbox.stack_set_updates import on_update
from tests.cli.org.organizations import REGIONS, ROLE, Organization
from tests.cli.org.test_org_document import called, documented
from tests.support.command import invoke
from tests.support.rule_places import RulePlace

pytestmark = pytest.mark.slow

HOME, NORTH = REGIONS
BUCKET = f"example-{HOME}"
TEMPLATE = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}
GOOD, CRASHES, FAILS = "good.zip", "crashes.zip", "fails-to-deploy.zip"
"""Versions by the keys of their code: one that works, one whose function fails, and one whose stack fails."""


class Rollout:
    """An organization in which two StackSets deploy the rule: a canary with one account, and another with two."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        """Deploy the first version."""
        self.sandbox, self._folder = sandbox, folder
        organization = Organization(sandbox)
        self._cloudformation = sandbox.client("cloudformation")
        sandbox.client("s3").create_bucket(Bucket=BUCKET)
        self.first = self._version("first.zip")
        self.places: dict[tuple[str, str], RulePlace] = {}
        self.canary, self.others = (self._deploy(organization, *names) for names in (("canary",), ("data", "web")))
        on_update((sandbox.account_id, sandbox.region), self._update)

    def _deploy(self, organization: Organization, *names: str) -> str:
        """Create an organizational unit with accounts, and the StackSet that deploys to it; return its name."""
        unit = organization.unit(names[0])
        stack_set = f"express-path-{unit}"
        accounts = [organization.add(name, unit) for name in names]
        given = {"RemediationMode": "OFF", "CodeKey": "first.zip", "ArtifactBucketPrefix": "example", "Former": "1"}
        self._cloudformation.create_stack_set(
            StackSetName=stack_set,
            TemplateBody=json.dumps(_template(*given)),
            PermissionModel="SERVICE_MANAGED",
            Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in given.items()],
        )
        targets = {"OrganizationalUnitIds": [unit]}
        self._cloudformation.create_stack_instances(
            StackSetName=stack_set, DeploymentTargets=targets, Regions=list(REGIONS)
        )
        for account_id in accounts:
            for region in REGIONS:
                place = self.places[account_id, region] = RulePlace(self.sandbox, account_id, region, stack_set)
                place.version = "first.zip"
                place.fails_with.add(CRASHES)
        return stack_set

    def _version(self, code_key: str) -> Path:
        """Upload the template of a version, and return the file with its keys."""
        names = ["RemediationMode", "CodeKey", "ArtifactBucketPrefix", *(["Former"] if code_key == "first.zip" else [])]
        self.sandbox.client("s3").put_object(
            Bucket=BUCKET, Key=f"{code_key}.json", Body=json.dumps(_template(*names)).encode()
        )
        file = self._folder / code_key
        file.write_text(f"CodeKey={code_key}\nTemplateKey={code_key}.json\nLedgerTemplateKey=ledger.yaml\n")
        return file

    def _update(self, account_id: str, region: str, parameters: dict[str, str]) -> None:
        """Do what a stack's update does: replace the function, which AWS Config then invokes."""
        version = parameters["CodeKey"]
        if version == FAILS:
            raise RuntimeError("Resource handler returned message: AccessDenied")
        self.places[account_id, region].update(version)

    def release(self, code_key: str, *options: str) -> Result:
        """Release a version."""
        files = ("--previous", str(self.first), "--new", str(self._version(code_key)))
        given = ("--canary", self.canary, "--role-name", ROLE, "--batch", "1", "--watch", "0", "--yes")
        self.sandbox.calls.clear()
        return invoke(["org", "release", *files, *given, *options])

    def versions(self) -> set[str]:
        """Return the versions that are deployed."""
        return {place.version for place in self.places.values()}

    def updates(self) -> list[tuple[str, list[str], int]]:
        """Return the StackSet, the Regions, and the tolerance of each update."""
        calls = self.sandbox.calls.of("cloudformation", "UpdateStackSet")
        return [
            (
                call.parameters["StackSetName"],
                call.parameters["Regions"],
                int(call.parameters["OperationPreferences"]["FailureTolerancePercentage"]),
            )
            for call in calls
        ]

    def statuses(self) -> set[str]:
        """Return the statuses of all stack instances."""
        return {
            row["Status"]
            for name in (self.canary, self.others)
            for row in self._cloudformation.list_stack_instances(StackSetName=name)["Summaries"]
        }

    def parameters(self) -> list[dict[str, str]]:
        """Return the parameters of both StackSets."""
        found = [
            self._cloudformation.describe_stack_set(StackSetName=name)["StackSet"]["Parameters"]
            for name in (self.canary, self.others)
        ]
        return [{row["ParameterKey"]: row["ParameterValue"] for row in rows} for rows in found]


def _template(*parameters: str) -> dict[str, object]:
    return {**TEMPLATE, "Parameters": {name: {"Type": "String", "Default": ""} for name in parameters}}


@pytest.fixture
def rollout(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rollout:
    """Return the organization with the first version."""
    monkeypatch.setattr(release, "POLL_SECONDS", 0)
    return Rollout(sandbox, tmp_path)


def test_a_good_version_goes_out_in_rings(rollout: Rollout) -> None:
    """The canary gets it in all Regions, and no account may fail; then the others, a batch of Regions after the other."""
    [broken] = [place for key, place in rollout.places.items() if key == min(rollout.places)]
    broken.set_alarm("ALARM")  # an alarm that was on before stops nothing
    result = rollout.release(GOOD)
    assert (result.exit_code, result.stderr) == (0, "")
    north, home = sorted(REGIONS)
    assert rollout.updates() == [
        (rollout.canary, [north, home], 0),
        (rollout.others, [north], 10),
        (rollout.others, [home], 10),
    ]
    assert (rollout.versions(), rollout.statuses()) == ({GOOD}, {"CURRENT"})
    assert [row["CodeKey"] for row in rollout.parameters()] == [GOOD, GOOD]
    assert ["Former" in row for row in rollout.parameters()] == [False, False]


def test_a_release_needs_the_documented_permissions(rollout: Rollout) -> None:
    """Also one that stops and puts back. In the accounts, it only reads alarms."""
    administrator = (rollout.sandbox.account_id, rollout.sandbox.region)
    on_update(administrator, lambda account_id, region, _: rollout.places[account_id, region].set_alarm("ALARM"))
    assert rollout.release(GOOD).exit_code == 1
    central, members = called(rollout.sandbox)
    # CloudFormation reads the templates with the permissions of the caller.
    assert central == documented()["Release"] - {"s3:GetObject"}
    assert members == documented()["ReleaseInAccount"] | {"cloudwatch:SetAlarmState"}


def test_a_version_that_judges_otherwise_is_reported_before_it_is_deployed(
    rollout: Rollout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shadow of a version that follows a NAT gateway like the VPC's own routers names each subnet whose verdict would change."""
    shadow = ["org", "shadow", "--role-name", ROLE, *(word for region in REGIONS for word in ("--region", region))]
    assert invoke(shadow).exit_code == 0
    monkeypatch.setitem(cast("dict[object, object]", hops.FOLLOW), TargetKind.NAT_GATEWAY, hops.follow_local)
    result = invoke(shadow)
    assert result.exit_code == 1
    assert all(place.vpc.subnet in result.stdout for place in rollout.places.values())
    assert rollout.versions() == {"first.zip"}


def test_a_version_whose_function_fails_is_caught_in_the_canary(rollout: Rollout) -> None:
    """Its alarm goes off, the operation is stopped, and the previous version is deployed again. Nobody else gets it."""
    before = rollout.parameters()
    result = rollout.release(CRASHES)
    assert result.exit_code == 1, result.stderr
    assert "trouble: 1 alarm went off: StackSet-" in result.stdout
    assert rollout.sandbox.calls.of("cloudformation", "StopStackSetOperation")
    assert {name for name, _, _ in rollout.updates()} == {rollout.canary}
    assert (rollout.versions(), rollout.statuses(), rollout.parameters()) == ({"first.zip"}, {"CURRENT"}, before)
    assert not any(place.sweep().error for place in rollout.places.values())


def test_a_version_that_cannot_be_deployed_is_caught_in_the_canary(rollout: Rollout) -> None:
    """One account that fails ends the operation, and the previous version is deployed again."""
    before = rollout.parameters()
    result = rollout.release(FAILS)
    assert (result.exit_code, "ended with FAILED" in result.stdout) == (1, True)
    assert {name for name, _, _ in rollout.updates()} == {rollout.canary}
    assert (rollout.versions(), rollout.parameters()) == ({"first.zip"}, before)


@pytest.mark.parametrize(("times", "status", "version"), [(3, 0, GOOD), (None, 1, "first.zip")])
def test_a_release_that_cannot_be_watched_is_put_back(
    rollout: Rollout, times: int | None, status: int, version: str
) -> None:
    """A few looks in a row may fail. If none succeeds, nobody would see an alarm."""
    faults, begun = rollout.sandbox.faults, list[str]()

    def update(account_id: str, region: str, parameters: dict[str, str]) -> None:
        rollout.places[account_id, region].update(parameters["CodeKey"])
        if not begun:
            faults.deny("cloudwatch", "DescribeAlarms", times)
        begun.append(account_id)

    on_update((rollout.sandbox.account_id, rollout.sandbox.region), update)
    result = rollout.release(GOOD)
    assert (result.exit_code, rollout.versions()) == (status, {version}), result.stdout


def test_trouble_in_a_later_ring_puts_everything_back(rollout: Rollout) -> None:
    """An alarm in the second batch of Regions leads to the previous version in all rings."""
    last = max(key for key in rollout.places if key[1] == max(REGIONS))
    place = rollout.places[last]
    place.fails_with.add(GOOD)
    result = rollout.release(GOOD)
    assert (result.exit_code, "went off" in result.stdout) == (1, True)
    assert rollout.versions() == {"first.zip"}


def test_a_release_that_could_not_be_undone_is_refused(rollout: Rollout, tmp_path: Path) -> None:
    """The previous version must be the deployed one and in the bucket, the canary must exist, and all accounts be readable."""
    other = tmp_path / "other"
    other.write_text("CodeKey=other.zip\nTemplateKey=other.json\n")
    rollout.sandbox.faults.deny("sts", "AssumeRole", RoleArn=f"arn:aws:iam::{min(rollout.places)[0]}:role/{ROLE}")
    for options, message in (
        (("--canary", "express-path-other"), "no such StackSet"),
        (("--previous", str(other)), "has the code first.zip"),
        (("--new", str(tmp_path / "missing")), "missing"),
        ((), "a release must see every account"),
    ):
        result = rollout.release(GOOD, *options)
        assert (result.exit_code, message in result.stderr, rollout.updates()) == (2, True, []), result.stderr
    rollout.sandbox.faults.clear()
    rollout.sandbox.client("s3").delete_object(Bucket=BUCKET, Key="first.zip.json")
    result = rollout.release(GOOD)
    assert (result.exit_code, "GetTemplateSummary" in result.stderr, rollout.updates()) == (2, True, [])
    assert rollout.versions() == {"first.zip"}
