"""Rules of conformance packs are service-linked: the account can look at them, and no more.

https://docs.aws.amazon.com/config/latest/developerguide/service-linked-awsconfig-rules.html
"""

import pytest
from botocore.exceptions import ClientError

from sandbox.config_service import ConfigResults
from sandbox.config_service.deployment import prepare
from sandbox.dynamic import Client
from sandbox.refusals import refused
from sandbox.server import Sandbox
from tests.sandbox.config.pack_templates import created, managed, rule_names

DENIED = "AccessDeniedException"
SOURCE = {"Owner": "AWS", "SourceIdentifier": "ENCRYPTED_VOLUMES"}


@pytest.fixture
def config(sandbox: Sandbox) -> Client:
    """A client of AWS Config in an account that has a recorder."""
    prepare(sandbox)
    return sandbox.client("config")


@pytest.fixture
def linked(config: Client) -> str:
    """The name of a rule of a pack."""
    return f"one-{created(config, {'Resources': {'One': managed('one')}})}"


def test_rule_cannot_be_changed(config: Client, linked: str) -> None:
    """PutConfigRule is denied, whether it names the rule, its id or its ARN."""
    (rule,) = config.describe_config_rules(ConfigRuleNames=[linked])["ConfigRules"]
    for identity in ("ConfigRuleName", "ConfigRuleId", "ConfigRuleArn"):
        definition = {identity: rule[identity], "Source": SOURCE}
        assert refused(config.put_config_rule, ConfigRule=definition) == DENIED
    with pytest.raises(ClientError, match="An AWS service owns ServiceLinkedConfigRule"):
        config.put_config_rule(ConfigRule={"ConfigRuleName": linked, "Source": SOURCE})
    config.put_config_rule(ConfigRule={"ConfigRuleName": "one", "Source": SOURCE})
    assert rule_names(config) == ["one", linked]


def test_rule_and_its_results_cannot_be_deleted(config: Client, linked: str, results: ConfigResults) -> None:
    """DeleteConfigRule and DeleteEvaluationResults are denied, and the results stay."""
    evaluation = {
        "ComplianceResourceType": "AWS::EC2::Subnet",
        "ComplianceResourceId": "subnet-1",
        "ComplianceType": "COMPLIANT",
        "OrderingTimestamp": 100,
    }
    config.put_evaluations(Evaluations=[evaluation], ResultToken=results.issue_token(linked))
    assert refused(config.delete_config_rule, ConfigRuleName=linked) == DENIED
    assert refused(config.delete_evaluation_results, ConfigRuleName=linked) == DENIED
    assert len(results.of_rule(linked)) == 1
    assert rule_names(config) == [linked]


def test_rule_can_be_evaluated_on_request(config: Client, linked: str, results: ConfigResults) -> None:
    """StartConfigRulesEvaluation is not among the calls that are denied; a deleted pack forgets the request."""
    config.start_config_rules_evaluation(ConfigRuleNames=[linked])
    assert results.requested == [linked]
    config.delete_conformance_pack(ConformancePackName="express-path")
    assert results.requested == []
