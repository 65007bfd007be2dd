"""The policy of the alarm topic that docs/deploy.md shows admits what the stacks send, and nothing else."""

import json
import re

import pytest

from config_rule_sandbox.iam.policies import Authorization, is_allowed
from tests.support.iam import faults
from tests.support.template import ROOT, expanded

TEXT = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8").partition("## Alarm topic")[2]
OWN, POLICY = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)[:2])
TOPIC, ORGANIZATION = "arn:aws:sns:eu-west-1:111122223333:alarms", "o-exampleorgid"
NOTICE_ROLE = expanded(AlarmTopicArn=TOPIC).deployed("<NoticeRole.Arn>")


@pytest.mark.parametrize(
    ("principal", "keys", "admitted"),
    [
        ({"Service": "cloudwatch.amazonaws.com"}, {"aws:SourceOrgID": ORGANIZATION}, True),
        ({"Service": "cloudwatch.amazonaws.com"}, {"aws:SourceOrgID": "o-another"}, False),
        ({"Service": "cloudwatch.amazonaws.com"}, {}, False),
        ({"AWS": "*"}, {"aws:PrincipalOrgID": ORGANIZATION, "aws:PrincipalArn": NOTICE_ROLE}, True),
        ({"AWS": "*"}, {"aws:PrincipalOrgID": "o-another", "aws:PrincipalArn": NOTICE_ROLE}, False),
        (
            {"AWS": "*"},
            {"aws:PrincipalOrgID": ORGANIZATION, "aws:PrincipalArn": "arn:aws:iam::123456789012:role/other"},
            False,
        ),
    ],
)
def test_topic_admits_alarms_and_notices(principal: dict[str, str], keys: dict[str, str], *, admitted: bool) -> None:
    """CloudWatch of the organization's accounts sends alarms, and the role of each stack sends notices."""
    statements = [row for row in POLICY["Statement"] if row["Principal"] == principal]
    request = Authorization("sns:Publish", TOPIC, {key: [value] for key, value in keys.items()})
    assert is_allowed(statements, request) is admitted
    assert [fault for row in (*OWN["Statement"], *POLICY["Statement"]) for fault in faults(row)] == []
