"""Events as AWS Config sends them, to be changed as a test wants.

https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules_example-events.html
"""

import json
from typing import Any

from express_path.errors import RecordError

Object = dict[str, Any]

CAPTURED = "2026-02-13T05:48:51.341Z"
NOTIFIED = "2026-02-13T05:49:02.100Z"


def item(**more: object) -> Object:
    """Return a route table's configuration item; more replaces its keys, and an Ellipsis removes one."""
    return changed(
        {
            "configurationItemVersion": "1.3",
            "configurationItemCaptureTime": CAPTURED,
            "configurationItemStatus": "OK",
            "awsAccountId": "123456789012",
            "resourceType": "AWS::EC2::RouteTable",
            "resourceId": "rtb-1",
            "awsRegion": "us-east-1",
            "relationships": [],
            "configuration": {"routeTableId": "rtb-1", "vpcId": "vpc-1"},
        },
        more,
    )


def change(**more: object) -> Object:
    """Return the invoking event of a change; more replaces its keys."""
    return changed(
        {
            "configurationItemDiff": None,
            "configurationItem": item(),
            "notificationCreationTime": NOTIFIED,
            "messageType": "ConfigurationItemChangeNotification",
            "recordVersion": "1.3",
        },
        more,
    )


def oversized(**more: object) -> Object:
    """Return the invoking event of an item too large to be sent; more replaces keys of its summary."""
    summary = item(changeType="UPDATE", relationships=..., configuration=...)
    return {
        "configurationItemSummary": changed(summary, more),
        "notificationCreationTime": NOTIFIED,
        "messageType": "OversizedConfigurationItemChangeNotification",
        "recordVersion": "1.0",
    }


def scheduled(**more: object) -> Object:
    """Return the invoking event of the schedule; more replaces its keys."""
    return changed(
        {
            "awsAccountId": "123456789012",
            "notificationCreationTime": NOTIFIED,
            "messageType": "ScheduledNotification",
            "recordVersion": "1.0",
        },
        more,
    )


def event(invoking: object, **more: object) -> Object:
    """Return the event that the function gets; more replaces its keys."""
    return changed(
        {
            "version": "1.0",
            "invokingEvent": json.dumps(invoking),
            "ruleParameters": "{}",
            "resultToken": "token",
            "eventLeftScope": False,
            "executionRoleArn": "arn:aws:iam::123456789012:role/config",
            "configRuleArn": "arn:aws:config:us-east-1:123456789012:config-rule/config-rule-1",
            "configRuleName": "s3express-no-nat-path",
            "configRuleId": "config-rule-1",
            "accountId": "123456789012",
            "evaluationMode": "DETECTIVE",
        },
        more,
    )


def changed(of: Object, more: Object) -> Object:
    """Return an object with some keys replaced, or removed if the value is an Ellipsis."""
    return {key: value for key, value in {**of, **more}.items() if value is not ...}


def place(error: RecordError) -> str:
    """Return where in an event an error is, without the event itself."""
    return f"{error.resource}.{error.field}".removeprefix("event.").removesuffix(".")
