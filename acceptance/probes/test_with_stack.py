"""What only the acceptance run shows, and needs the stack or its rule. Each test has the name of its probe."""

import io
import json
import zipfile
from datetime import datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from acceptance.facts import Facts
from acceptance.network import Network
from acceptance.place import Place, error_code, pages
from acceptance.stack import Stack

ECHO = "import json\n\ndef handler(event, context):\n    print(json.dumps(event))\n"
LISTENER = "AWS::EC2::Subnet", "AWS::EC2::RouteTable", "AWS::EC2::PrefixList"
Events = list[dict[str, Any]]


@pytest.fixture(scope="session")
def listener(place: Place, stack: Stack) -> str:
    """Make a second rule, whose function prints its events, and return the rule's name, which is its function's, too."""
    name, rule = f"{place.stack_name}-listener", f"acceptance-{place.run}-listener"
    role = place.client("iam")
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = {"Version": "2012-10-17", "Statement": [trust]}
    arn = role.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(document), Tags=place.tags)["Role"]["Arn"]
    write = {
        "Effect": "Allow",
        "Action": ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"],
        "Resource": "*",
    }
    role.put_role_policy(RoleName=name, PolicyName="log", PolicyDocument=json.dumps(document | {"Statement": [write]}))
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("index.py", ECHO)
    functions = place.client("lambda")
    what = {"FunctionName": name, "Role": arn, "Code": {"ZipFile": code.getvalue()}, "Handler": "index.handler"}

    def created() -> bool:  # Lambda refuses a role that is too new
        code = error_code(lambda: functions.create_function(**what, Runtime="python3.13", Tags={stack.rule: place.run}))
        return code in ("none", "ResourceConflictException")

    place.until("a function with a new role", created)
    functions.get_waiter("function_active_v2").wait(FunctionName=name)
    permission = {"Principal": "config.amazonaws.com", "Action": "lambda:InvokeFunction", "StatementId": "config"}
    functions.add_permission(FunctionName=name, **permission, SourceAccount=place.account_id)
    source = {
        "Owner": "CUSTOM_LAMBDA",
        "SourceIdentifier": functions.get_function(FunctionName=name)["Configuration"]["FunctionArn"],
        "SourceDetails": [{"EventSource": "aws.config", "MessageType": "ConfigurationItemChangeNotification"}],
    }
    scope = {"ComplianceResourceTypes": list(LISTENER)}
    place.client("config").put_config_rule(ConfigRule={"ConfigRuleName": rule, "Scope": scope, "Source": source})
    return rule


def _heard(place: Place, kind: str) -> Events:
    """Return the events about resources of a type that the listener has printed."""
    group = f"/aws/lambda/{place.stack_name}-listener"
    try:
        printed = pages(place.client("logs"), "filter_log_events", "events", logGroupName=group)
    except ClientError:  # there is no event yet
        return []
    events = [json.loads(one["message"]) for one in printed if one["message"].startswith("{")]
    invoking = [
        event | {"invoking": json.loads(event["invokingEvent"])} for event in events if "invokingEvent" in event
    ]
    return [event for event in invoking if event["invoking"].get("configurationItem", {}).get("resourceType") == kind]


def test_first_evaluation(place: Place, listener: str, network: Network, facts: Facts) -> None:
    """With which events a new rule evaluates what is there."""

    def look() -> Events:
        return [
            one
            for one in _heard(place, LISTENER[0])
            if one["invoking"]["configurationItem"]["resourceId"] == network.public
        ]

    event = place.until("the first event about a subnet", look)[0]["invoking"]
    facts.keep("first-evaluation-event", event)
    answer = [event["messageType"], event["configurationItemDiff"]]
    facts.add("first-evaluation", "config", f"The first event of {listener}", answer, answer[1] is None)


def test_older_result_and_stored_results_lag(place: Place, listener: str, network: Network, facts: Facts) -> None:
    """Whether a result with an older time replaces a newer one, and whether a result is there at once."""
    config, token = place.client("config"), _heard(place, LISTENER[0])[-1]["resultToken"]
    item = _heard(place, LISTENER[0])[-1]["invoking"]["configurationItem"]["configurationItemCaptureTime"]

    def stored() -> list[str]:
        found = pages(config, "get_compliance_details_by_config_rule", "EvaluationResults", ConfigRuleName=listener)
        return [one["ComplianceType"] for one in found]

    moment, answers = datetime.fromisoformat(item), []
    for compliance, when in (("NON_COMPLIANT", moment), ("COMPLIANT", moment - timedelta(hours=1))):
        result = {"ComplianceResourceType": LISTENER[0], "ComplianceResourceId": network.public}
        evaluation = result | {"ComplianceType": compliance, "OrderingTimestamp": when}
        config.put_evaluations(Evaluations=[evaluation], ResultToken=token)
        answers.append(stored())
        place.until("a stored result", stored)
    facts.add("older-result", "config", "The result after an older one", stored(), stored() == ["NON_COMPLIANT"])
    is_lagging = answers[0] == []
    asked = "Are results there only later?"
    facts.add("stored-results-lag", "config", asked, is_lagging, is_lagging if place.name != "sandbox" else None)


def test_items_of_the_other_triggers(place: Place, listener: str, facts: Facts) -> None:
    """What the item of a prefix list calls its ID. Exclusions and firewalls cost more than a run may."""
    found = place.until("an event about a prefix list", lambda: _heard(place, LISTENER[2]))
    keys = sorted({key for one in found for key in one["invoking"]["configurationItem"]["configuration"] or {}})
    asked = f"Members of a prefix list's item for {listener}"
    facts.add("items-of-the-other-triggers", "config", asked, keys, "PrefixListId" in keys)


def test_resource_types_in_scope(place: Place, stack: Stack, facts: Facts) -> None:
    """Which types AWS Config has in the scope of the stack's rule."""
    [rule] = place.client("config").describe_config_rules(ConfigRuleNames=[stack.rule])["ConfigRules"]
    types = sorted(rule["Scope"]["ComplianceResourceTypes"])
    facts.add("resource-types-in-scope", "config", "The scope of the deployed rule", types, len(types) == 8)


def test_items_in_an_aggregator(place: Place, network: Network, facts: Facts) -> None:
    """Which fields the item of a subnet has in an aggregator of this account alone."""
    config, name = place.client("config"), place.stack_name
    sources = [{"AccountIds": [place.account_id], "AwsRegions": [place.region]}]
    config.put_configuration_aggregator(ConfigurationAggregatorName=name, AccountAggregationSources=sources)
    identifier = {"SourceAccountId": place.account_id, "SourceRegion": place.region, "ResourceId": network.public}
    asked = {"ConfigurationAggregatorName": name, "ResourceIdentifier": identifier | {"ResourceType": LISTENER[0]}}
    found: list[Any] = []
    code = error_code(lambda: found.append(config.get_aggregate_resource_config(**asked)))
    keys = [sorted(json.loads(one["ConfigurationItem"]["configuration"])) for one in found]
    facts.add(
        "items-in-an-aggregator",
        "config",
        "Error, and members of a subnet's item",
        [code, *keys],
        "vpcId" in keys[0] if keys else None,
    )


def test_ledger_policy(place: Place, stack: Stack, facts: Facts) -> None:
    """Whether the ledger's policy keeps whoever runs this from writing an item. The sandbox checks no permissions."""
    dynamodb, table = place.client("dynamodb"), stack.outputs["LedgerTableName"]
    item = {"id": {"S": "acceptance"}}
    code = error_code(lambda: dynamodb.put_item(TableName=table, Item=item))
    error_code(lambda: dynamodb.delete_item(TableName=table, Key=item))
    believed = code == "AccessDeniedException"
    facts.add("ledger-policy", "dynamodb", "Error of PutItem", code, believed if place.name != "sandbox" else None)


def test_block_public_access(place: Place, network: Network, facts: Facts) -> None:
    """What a subnet says while internet gateways are open. What NAT gateways do needs traffic, which no run sends yet."""
    [subnet] = place.client("ec2").describe_subnets(SubnetIds=[network.public])["Subnets"]
    facts.add("block-public-access", "ec2", "States of a subnet", subnet.get("BlockPublicAccessStates"), None)


def test_role_of_stacksets(place: Place, facts: Facts) -> None:
    """Whether the account has a role of StackSets, which only an account of an organization has."""
    roles = [one["RoleName"] for one in pages(place.client("iam"), "list_roles", "Roles")]
    found = [name for name in roles if name.startswith("stacksets-exec-")]
    facts.add("role-of-stacksets", "iam", "Number of roles", len(found), bool(found) or None)


def test_findings_in_the_new_security_hub(place: Place, stack: Stack, facts: Facts) -> None:
    """Whether the new Security Hub, if it is enabled, has findings with the rule's name as the title."""
    match = {"FieldName": "finding_info.title", "Filter": {"Value": stack.rule, "Comparison": "EQUALS"}}
    filters = {"CompositeFilters": [{"StringFilters": [match]}]}
    hub, found = place.client("securityhub"), []
    code = error_code(lambda: found.append(hub.get_findings_v2(Filters=filters)["Findings"]))
    asked = "Error, and number of findings"
    facts.add(
        "findings-in-the-new-security-hub",
        "securityhub",
        asked,
        [code, *map(len, found)],
        bool(found and found[0]) or None,
    )


def test_keys_of_endpoint_requests(place: Place, network: Network, facts: Facts) -> None:
    """Which keys S3 Express sends needs a client in the VPC, which no run has yet. It shows whether an endpoint is there."""
    made = place.client("ec2").describe_vpc_endpoints(Filters=[{"Name": "vpc-id", "Values": [network.vpc]}])
    facts.add(
        "keys-of-endpoint-requests", "s3express", "Not asked: number of endpoints", len(made["VpcEndpoints"]), None
    )
