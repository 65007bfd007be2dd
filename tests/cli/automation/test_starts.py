"""Which subnets wait for a heal that AWS Config has not started."""

import json
import time
from datetime import UTC, datetime

import pytest

from config_rule_sandbox.config.remediation.exceptions import add_exception
from config_rule_sandbox.config.remediation.memory import remediations_of
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.config.results import Result, results_of
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path.adapters.aws import Aws
from express_path_cli.automation.starts import waiting_for_heals
from org.expansion import runbook
from tests.support.heals import HEAL, RULE, TRUST, configure_remediation
from tests.support.ledgers import LEDGER, LedgerTable

pytestmark = pytest.mark.slow

EXCEPTED, WAITS = [f"subnet-{number:017x}" for number in range(1000)], "subnet-fffffffffffffffff"
TWO_DAYS_S = 2 * 24 * 3600


def test_exceptions_hide_nothing(sandbox: Sandbox) -> None:
    """However many subnets have an exception, one that waits is named."""
    LedgerTable(sandbox)
    place, before = (sandbox.account_id, sandbox.region), time.time() - TWO_DAYS_S
    with Automation(sandbox) as automation, Remediation(sandbox, automation):
        role = sandbox.client("iam").create_role(RoleName="heals", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]
        ssm = sandbox.client("ssm")
        ssm.create_document(Name=HEAL, Content=json.dumps(runbook(HEAL)), DocumentType="Automation")
        given = {"AutomationAssumeRole": role["Arn"], "PlanFunctionName": "express-path-plan"}
        configure_remediation(sandbox.client("config"), given)
        for subnet_id in (*EXCEPTED, WAITS):
            resource = ("AWS::EC2::Subnet", subnet_id)
            results_of(*place).store(Result(RULE, resource, "NON_COMPLIANT", before, before, before, "-"))
            if subnet_id != WAITS:
                add_exception(remediations_of(*place), RULE, resource, "-")
        assert waiting_for_heals(Aws.connect(), RULE, LEDGER, datetime.now(UTC)) == [WAITS]
