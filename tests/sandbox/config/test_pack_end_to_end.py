"""A conformance pack with the product's rule: a change of EC2 flags a subnet, the pack shows it, its end removes it."""

from collections.abc import Iterator

import pytest

from express_path.handlers.evaluate import handler
from sandbox.config_loop import ConfigLoop
from sandbox.config_service.deployment import deployed
from sandbox.dynamic import Client
from sandbox.server import Sandbox
from tests.handlers.network import Builder, Private
from tests.handlers.rule import Context
from tests.handlers.running import emptied
from tests.sandbox.config.pack_templates import PACK, RULE_NAME, created, custom, express_path, rule_names


@pytest.fixture
def reached(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """The sandbox, to which the environment leads."""
    with emptied(sandbox, monkeypatch) as empty:
        yield empty


def summary(config: Client) -> str:
    """Return the compliance of the pack."""
    answer = config.get_conformance_pack_compliance_summary(ConformancePackNames=[PACK])
    return str(answer["ConformancePackComplianceSummaryList"][0]["ConformancePackComplianceStatus"])


def flagged(config: Client) -> dict[str, str]:
    """Return the NON_COMPLIANT resources of the pack, and the reason of each."""
    filters = {"ComplianceType": "NON_COMPLIANT", "ResourceType": "AWS::EC2::Subnet"}
    answer = config.get_conformance_pack_compliance_details(ConformancePackName=PACK, Filters=filters)
    return {
        row["EvaluationResultIdentifier"]["EvaluationResultQualifier"]["ResourceId"]: row["Annotation"].partition(":")[
            0
        ]
        for row in answer["ConformancePackRuleEvaluationResults"]
    }


def test_pack_judges_subnets_by_the_function(reached: Sandbox) -> None:
    """The pack's rule invokes the real function for changes of EC2, as any rule; its results are the pack's."""
    config, builder = reached.client("config"), Builder(reached)
    private = Private(builder)
    name = f"{RULE_NAME}-{created(config, express_path(reached, publicSubnets='NOT_APPLICABLE'))}"
    loop = ConfigLoop(reached, lambda event: handler(event, Context()), deployed=deployed(reached, name))
    assert summary(config) == "INSUFFICIENT_DATA"

    def tell() -> None:
        loop.notice()
        assert [delivery.error for delivery in loop.deliver() if delivery.error] == []

    tell()
    assert (summary(config), flagged(config)) == ("NON_COMPLIANT", {private.subnet: "NAT_GATEWAY"})
    builder.endpoint(private.vpc, private.table)
    tell()
    assert (summary(config), flagged(config)) == ("COMPLIANT", {})
    another = builder.subnet(private.vpc, builder.table(private.vpc, NatGatewayId=private.nat))
    tell()
    assert (summary(config), flagged(config)) == ("NON_COMPLIANT", {another: "NAT_GATEWAY"})
    event = loop.deliveries[-1].event
    assert (event["configRuleName"], event["ruleParameters"]) == (name, '{"publicSubnets": "NOT_APPLICABLE"}')
    assert ":config-rule/aws-service-rule/config-conforms.amazonaws.com/" in event["configRuleArn"]
    assert {delivery.event["eventLeftScope"] for delivery in loop.deliveries} == {False}

    config.delete_conformance_pack(ConformancePackName=PACK)
    assert rule_names(config) == []
    assert loop.results.of_rule(name) == []
    builder.subnet(private.vpc)
    assert len(loop.notice()) > 0
    assert loop.queued == []


def test_sweep_of_a_packs_rule(reached: Sandbox) -> None:
    """The schedule of a pack's rule evaluates every subnet, and marks those that have vanished."""
    config, builder = reached.client("config"), Builder(reached)
    private = Private(builder)
    name = f"{RULE_NAME}-{created(config, express_path(reached))}"
    loop = ConfigLoop(reached, lambda event: handler(event, Context()), deployed=deployed(reached, name))
    assert loop.scheduled().error is None
    assert flagged(config) == {private.subnet: "NAT_GATEWAY"}
    reached.client("ec2").delete_subnet(SubnetId=private.subnet)
    assert loop.scheduled().error is None
    assert flagged(config) == {}


def test_rule_is_invoked_only_as_its_template_says(sandbox: Sandbox) -> None:
    """A rule without ScheduledNotification has no schedule, and a scope without types means every type."""
    config = sandbox.client("config")
    changes = [{"EventSource": "aws.config", "MessageType": "ConfigurationItemChangeNotification"}]
    template = express_path(sandbox)
    function = template["Resources"]["S3ExpressNoNatPath"]["Properties"]["Source"]["SourceIdentifier"]
    source = {"Owner": "CUSTOM_LAMBDA", "SourceIdentifier": function, "SourceDetails": changes}
    rule = custom("changes", function, Source=source)
    del rule["Properties"]["Scope"]
    pack_id = created(config, {"Resources": {"Changes": rule}})
    loop = ConfigLoop(sandbox, dict, deployed=deployed(sandbox, f"changes-{pack_id}"))
    with pytest.raises(LookupError, match="no periodic trigger"):
        loop.scheduled()
    assert len(loop.baseline()) == len(loop.queued)
    loop.deliver()
    loop.oversized_above = 0
    assert len(loop.baseline()) > 0
    assert loop.queued == []
