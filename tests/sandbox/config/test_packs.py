"""Conformance packs: what is put, the states it passes through, its limits, and its end.

https://docs.aws.amazon.com/config/latest/APIReference/API_PutConformancePack.html
"""

import re
from typing import Any

import pytest
from moto.config.models import config_backends

from sandbox.config_service.deployment import prepare
from sandbox.config_service.packs import packs_of
from sandbox.dynamic import Client
from sandbox.refusals import refused
from sandbox.server import Sandbox
from tests.sandbox.config.pack_templates import (
    PACK,
    RULE_NAME,
    created,
    custom,
    express_path,
    managed,
    put,
    rule_names,
    settled,
    status,
)

ONE = {"Resources": {"One": managed("one")}}


@pytest.fixture
def config(sandbox: Sandbox) -> Client:
    """A client of AWS Config in an account that has a recorder."""
    prepare(sandbox)
    return sandbox.client("config")


def test_pack_is_in_progress_and_then_complete(config: Client) -> None:
    """The call gives the ARN only; the status says CREATE_IN_PROGRESS first, and then CREATE_COMPLETE with a stack.

    https://docs.aws.amazon.com/config/latest/developerguide/conformance-pack-cli.html
    """
    arn = put(config, ONE)
    first, second = status(config), status(config)
    assert (first["ConformancePackState"], second["ConformancePackState"]) == ("CREATE_IN_PROGRESS", "CREATE_COMPLETE")
    pack_id = second["ConformancePackId"]
    assert re.fullmatch("conformance-pack-[a-z0-9]{9}", pack_id)
    assert arn == f"arn:aws:config:us-east-1:123456789012:conformance-pack/{PACK}/{pack_id}"
    assert f":stack/awsconfigconforms-{PACK}-{pack_id}/" in second["StackArn"]
    assert second["LastUpdateCompletedTime"] >= second["LastUpdateRequestedTime"]
    assert "LastUpdateCompletedTime" not in first
    assert status(config) == second


def test_rules_have_the_packs_suffix_and_belong_to_the_service(sandbox: Sandbox, config: Client) -> None:
    """A rule is named after the pack's id, its ARN has the service's path, and it keeps what the template says.

    https://docs.aws.amazon.com/config/latest/developerguide/compliance-history-conformance-pack.html
    """
    pack_id = created(config, express_path(sandbox, publicSubnets="NON_COMPLIANT"))
    (rule,) = config.describe_config_rules(ConfigRuleNames=[f"{RULE_NAME}-{pack_id}"])["ConfigRules"]
    path = "config-rule/aws-service-rule/config-conforms.amazonaws.com"
    assert rule["ConfigRuleArn"] == f"arn:aws:config:us-east-1:123456789012:{path}/{rule['ConfigRuleId']}"
    assert rule["CreatedBy"] == "config-conforms.amazonaws.com"
    assert rule["InputParameters"] == '{"publicSubnets": "NON_COMPLIANT"}'
    assert len(rule["Source"]["SourceDetails"]) == 3


def test_service_linked_role_is_made_once(sandbox: Sandbox, config: Client) -> None:
    """The first pack of an account makes the role AWSServiceRoleForConfigConforms; the next one finds it."""
    created(config, ONE)
    role = sandbox.client("iam").get_role(RoleName="AWSServiceRoleForConfigConforms")["Role"]
    assert role["Path"] == "/aws-service-role/config-conforms.amazonaws.com/"
    created(config, ONE, "another")


def test_what_is_in_progress_cannot_be_changed(config: Client) -> None:
    """A pack that is being created or deleted is in use (botocore model, ResourceInUseException)."""
    put(config, ONE)
    assert refused(put, config=config, template=ONE) == "ResourceInUseException"
    assert refused(config.delete_conformance_pack, ConformancePackName=PACK) == "ResourceInUseException"
    settled(config)
    config.delete_conformance_pack(ConformancePackName=PACK)
    assert refused(put, config=config, template=ONE) == "ResourceInUseException"
    assert refused(config.delete_conformance_pack, ConformancePackName=PACK) == "ResourceInUseException"


def test_state_in_progress_may_last(sandbox: Sandbox, config: Client) -> None:
    """Whoever polls must be patient: a state may be seen as often as a test likes."""
    packs_of(config_backends[sandbox.account_id][sandbox.region]).looks = 3
    put(config, ONE)
    states = [status(config)["ConformancePackState"] for _ in range(4)]
    assert states == ["CREATE_IN_PROGRESS"] * 3 + ["CREATE_COMPLETE"]


def test_deleted_pack_is_gone_with_its_rules(config: Client) -> None:
    """DELETE_IN_PROGRESS, then nothing: the status is empty, while DescribeConformancePacks refuses the name.

    https://docs.aws.amazon.com/config/latest/APIReference/API_DeleteConformancePack.html
    """
    created(config, ONE)
    config.delete_conformance_pack(ConformancePackName=PACK)
    assert status(config)["ConformancePackState"] == "DELETE_IN_PROGRESS"
    assert config.describe_conformance_pack_status(ConformancePackNames=[PACK])["ConformancePackStatusDetails"] == []
    assert refused(config.describe_conformance_packs, ConformancePackNames=[PACK]) == "NoSuchConformancePackException"
    assert refused(config.delete_conformance_pack, ConformancePackName=PACK) == "NoSuchConformancePackException"
    assert rule_names(config) == []


def test_packs_own_description_shows_its_end_too(config: Client) -> None:
    """Whoever polls DescribeConformancePacks after a deletion sees the pack vanish as well."""
    created(config, ONE)
    config.delete_conformance_pack(ConformancePackName=PACK)
    assert len(config.describe_conformance_packs()["ConformancePackDetails"]) == 1
    assert config.describe_conformance_packs()["ConformancePackDetails"] == []


def test_description_gives_back_what_was_asked_for(config: Client) -> None:
    """DescribeConformancePacks has the input parameters and the delivery bucket, and no state."""
    template = {"Parameters": {"Why": {"Type": "String"}}, "Resources": {"One": managed("one")}}
    given = [{"ParameterName": "Why", "ParameterValue": "because"}]
    created(config, template, ConformancePackInputParameters=given, DeliveryS3Bucket="bucket")
    (pack,) = config.describe_conformance_packs(ConformancePackNames=[PACK])["ConformancePackDetails"]
    assert pack["ConformancePackInputParameters"] == given
    assert (pack["DeliveryS3Bucket"], pack["Type"], "ConformancePackState" in pack) == ("bucket", "CUSTOM", False)


def test_update_keeps_what_stays(config: Client) -> None:
    """An update passes UPDATE_IN_PROGRESS: rules that stay keep their ARN, the others go and come; the ARN stays."""
    first = created(config, {"Resources": {"One": managed("one"), "Two": managed("two")}})
    before = {rule["ConfigRuleName"]: rule for rule in config.describe_config_rules()["ConfigRules"]}
    put(config, {"Resources": {"Two": managed("two", Description="new"), "Three": managed("three")}})
    assert status(config)["ConformancePackState"] == "UPDATE_IN_PROGRESS"
    assert settled(config)["ConformancePackState"] == "UPDATE_COMPLETE"
    after = {rule["ConfigRuleName"]: rule for rule in config.describe_config_rules()["ConfigRules"]}
    assert sorted(after) == [f"three-{first}", f"two-{first}"]
    assert after[f"two-{first}"]["ConfigRuleArn"] == before[f"two-{first}"]["ConfigRuleArn"]
    assert after[f"two-{first}"]["Description"] == "new"
    assert after[f"two-{first}"]["CreatedBy"] == "config-conforms.amazonaws.com"


def test_failed_update_leaves_what_was_there(config: Client) -> None:
    """A stack that cannot be updated is rolled back: UPDATE_FAILED with a reason, and the rules of before."""
    pack_id = created(config, ONE)
    put(config, {"Resources": {"One": managed("one", Description="new"), "Bad": custom("bad", "arn:aws:lambda:::f")}})
    found = settled(config)
    assert found["ConformancePackState"] == "UPDATE_FAILED"
    assert "InsufficientPermissionsException" in found["ConformancePackStatusReason"]
    (rule,) = config.describe_config_rules()["ConfigRules"]
    assert (rule["ConfigRuleName"], rule.get("Description")) == (f"one-{pack_id}", None)
    created(config, ONE)


def test_creation_without_a_recorder_fails(sandbox: Sandbox) -> None:
    """AWS Config must record before a pack can be deployed; the failure shows in the status, without a stack.

    https://docs.aws.amazon.com/config/latest/developerguide/cpack-prerequisites.html and
    https://docs.aws.amazon.com/config/latest/developerguide/troubleshooting-conformance-pack.html
    """
    config = sandbox.client("config")
    put(config, ONE)
    assert "ConformancePackStatusReason" not in status(config)
    found = settled(config)
    assert found["ConformancePackState"] == "CREATE_FAILED"
    assert found["ConformancePackStatusReason"].startswith("NoAvailableConfigurationRecorderException")
    assert "StackArn" not in found
    assert rule_names(config) == []


def test_failed_creation_can_be_repeated_or_deleted(sandbox: Sandbox) -> None:
    """A pack that failed is still there; the next request creates it, and it can be deleted."""
    config = sandbox.client("config")
    put(config, ONE)
    assert settled(config)["ConformancePackState"] == "CREATE_FAILED"
    prepare(sandbox)
    put(config, ONE)
    assert status(config)["ConformancePackState"] == "CREATE_IN_PROGRESS"
    assert settled(config)["ConformancePackState"] == "CREATE_COMPLETE"
    assert "ConformancePackStatusReason" not in status(config)


def test_function_must_be_there_already(sandbox: Sandbox, config: Client) -> None:
    """A pack makes no function: without it, or without AWS Config's permission to invoke it, the creation fails.

    https://docs.aws.amazon.com/config/latest/developerguide/cpack-prerequisites.html
    """
    template = express_path(sandbox)
    functions = sandbox.client("lambda")
    functions.remove_permission(FunctionName="express-path-evaluate", StatementId="config")
    put(config, template)
    assert "cannot be invoked" in settled(config)["ConformancePackStatusReason"]
    permission = {"StatementId": "config", "Action": "lambda:InvokeFunction", "Principal": "config.amazonaws.com"}
    functions.add_permission(FunctionName="express-path-evaluate", **permission)
    created(config, template)
    functions.delete_function(FunctionName="express-path-evaluate")
    put(config, template, "another")
    assert "cannot be invoked" in settled(config, "another")["ConformancePackStatusReason"]
    created(config, template)  # what does not change is not touched


def test_all_or_nothing(config: Client) -> None:
    """The rules before the one that fails are taken back."""
    put(config, {"Resources": {"One": managed("one"), "Bad": custom("bad", "arn:aws:lambda:::f")}})
    assert settled(config)["ConformancePackState"] == "CREATE_FAILED"
    assert rule_names(config) == []


def test_name_of_a_rule_may_be_too_long(config: Client) -> None:
    """With its suffix a rule's name has at most 128 characters (botocore model, ConfigRuleName)."""
    put(config, {"Resources": {"One": managed("a" * 102)}})
    assert settled(config)["ConformancePackStatusReason"].startswith("ValidationException")
    created(config, {"Resources": {"One": managed("a" * 101)}})


@pytest.mark.parametrize("name", ["1st", "with_underscore", "a" * 257, "with space"])
def test_name_has_a_pattern(config: Client, name: str) -> None:
    """A pack's name begins with a letter and has letters, digits and hyphens, 256 at most (botocore model)."""
    assert refused(put, config=config, template=ONE, name=name) == "ValidationException"


def test_fifty_packs(config: Client) -> None:
    """An account has at most 50 packs: https://docs.aws.amazon.com/config/latest/developerguide/configlimits.html."""
    for number in range(50):
        put(config, ONE, f"pack-{number}")
    code = refused(put, config=config, template=ONE, name="one-more")
    assert code == "MaxNumberOfConformancePacksExceededException"
    settled(config, "pack-7")
    put(config, ONE, "pack-7")


def test_rules_of_packs_count_among_those_of_the_account(config: Client) -> None:
    """Rules in packs count towards the 1,000 of the account and Region.

    https://docs.aws.amazon.com/config/latest/developerguide/configlimits.html
    """
    template = {"Resources": {f"Rule{number}": managed(f"rule-{number}") for number in range(125)}}
    for number in range(8):
        created(config, template, f"pack-{number}")
    put(config, ONE, "one-more")
    assert settled(config, "one-more")["ConformancePackStatusReason"].startswith("MaxNumberOfConfigRulesExceeded")


def test_one_hundred_and_thirty_rules(config: Client) -> None:
    """A pack has at most 130 rules, and AWS says at once that there are more.

    https://github.com/awslabs/aws-config-rules/issues/430
    """
    rules = {f"Rule{number}": managed(f"rule-{number}") for number in range(131)}
    assert refused(put, config=config, template={"Resources": rules}) == "ConformancePackTemplateValidationException"
    rules.popitem()
    created(config, {"Resources": rules})


def test_body_is_counted_in_bytes(config: Client) -> None:
    """A TemplateBody has at most 51,200 bytes (botocore model)."""
    head = "Resources: {One: {Type: 'AWS::Config::ConfigRule', Properties: {ConfigRuleName: one, "
    head += "Source: {Owner: AWS, SourceIdentifier: ENCRYPTED_VOLUMES}}}}\n#"
    assert refused(put, config=config, template=head + "ä" * 25_600) == "ValidationException"
    created(config, head + "a" * (51_200 - len(head)))


def test_template_in_s3(sandbox: Sandbox, config: Client) -> None:
    """A template may lie in S3, in the pack's own Region, with at most 300 KB (botocore model, TemplateS3Uri)."""
    s3 = sandbox.client("s3")
    s3.create_bucket(Bucket="templates")
    body = "Resources: {One: {Type: 'AWS::Config::ConfigRule', Properties: {ConfigRuleName: one, "
    body += "Source: {Owner: AWS, SourceIdentifier: ENCRYPTED_VOLUMES}}}}\n#"
    s3.put_object(Bucket="templates", Key="a/pack.yaml", Body=body + "a" * 60_000)
    s3.put_object(Bucket="templates", Key="large.yaml", Body=body + "a" * 300 * 1024)
    s3.put_object(Bucket="templates", Key="cold.yaml", Body=body, StorageClass="GLACIER")

    def put_from(uri: str, config: Client = config) -> None:
        config.put_conformance_pack(ConformancePackName=PACK, TemplateS3Uri=uri)

    assert refused(put_from, uri="s3://templates/large.yaml") == "InvalidParameterValueException"
    assert refused(put_from, uri="s3://templates/cold.yaml") == "InvalidParameterValueException"
    assert refused(put_from, uri="s3://templates/missing.yaml") == "InsufficientPermissionsException"
    assert refused(put_from, uri="s3://nowhere/pack.yaml") == "InsufficientPermissionsException"
    assert refused(put_from, uri="templates/a/pack.yaml") == "ValidationException"
    elsewhere = sandbox.client("config", "eu-west-1")
    assert refused(put_from, uri="s3://templates/a/pack.yaml", config=elsewhere) == "InvalidParameterValueException"
    put_from("s3://templates/a/pack.yaml")
    assert settled(config)["ConformancePackState"] == "CREATE_COMPLETE"


@pytest.mark.parametrize(
    "sources",
    [
        {},
        {"TemplateBody": "{}", "TemplateS3Uri": "s3://templates/pack.yaml"},
        {"TemplateSSMDocumentDetails": {"DocumentName": "document"}},
        {"Source": {"SourceIdentifier": "managed"}},
        {"TemplateBody": "{}", "Scope": {"TagKey": "key"}},
    ],
)
def test_one_template_of_a_kind_that_is_known(config: Client, sources: dict[str, Any]) -> None:
    """Exactly one template is given; SSM documents and managed packs are refused, as the sandbox has neither."""
    code = refused(config.put_conformance_pack, ConformancePackName=PACK, **sources)
    assert code == "InvalidParameterValueException"


def test_pages_and_filters(config: Client) -> None:
    """Descriptions come in pages of at most 20, sorted, and filtered by type."""
    for number in range(23):
        put(config, ONE, f"pack-{number:02}")
    first = config.describe_conformance_pack_status()
    second = config.describe_conformance_pack_status(NextToken=first["NextToken"])
    names = [row["ConformancePackName"] for each in (first, second) for row in each["ConformancePackStatusDetails"]]
    assert names == [f"pack-{number:02}" for number in range(23)]
    assert "NextToken" not in second
    assert len(config.describe_conformance_packs(Limit=3)["ConformancePackDetails"]) == 3
    assert config.describe_conformance_packs(Filters={"Types": ["MANAGED"]})["ConformancePackDetails"] == []
    assert refused(config.describe_conformance_packs, Limit=21) == "InvalidLimitException"
    assert refused(config.describe_conformance_packs, NextToken="nonsense") == "InvalidNextTokenException"
    too_many = [f"pack-{number}" for number in range(26)]
    assert refused(config.describe_conformance_pack_status, ConformancePackNames=too_many) == "ValidationException"


def test_tags_are_those_of_the_creation(config: Client) -> None:
    """Tags are added when a pack is created; an update ignores others, TagResource does not (botocore model)."""
    arn = put(config, ONE, Tags=[{"Key": "team", "Value": "network"}])
    settled(config)
    created(config, ONE, Tags=[{"Key": "team", "Value": "other"}])
    assert config.list_tags_for_resource(ResourceArn=arn)["Tags"] == [{"Key": "team", "Value": "network"}]
    config.tag_resource(ResourceArn=arn, Tags=[{"Key": "cost", "Value": "none"}])
    assert len(config.list_tags_for_resource(ResourceArn=arn)["Tags"]) == 2
    assert refused(config.list_tags_for_resource, ResourceArn=arn + "x") == "ResourceNotFoundException"


def test_packs_are_of_one_region(sandbox: Sandbox, config: Client) -> None:
    """Another Region has packs of its own."""
    created(config, ONE)
    assert sandbox.client("config", "eu-west-1").describe_conformance_packs()["ConformancePackDetails"] == []
