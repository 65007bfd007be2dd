"""Resource types of CloudWatch."""

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, Properties, putting
from config_rule_sandbox.cloudformation.values import Created


def create_alarm(account: Account, name: str, properties: Properties) -> Created:
    """Create an alarm."""
    name = properties.get("AlarmName", name)
    update_alarm(account, name, {}, properties)
    return Created(name, {"Arn": f"arn:aws:cloudwatch:{account.region}:{account.account_id}:alarm:{name}"})


def delete_alarm(account: Account, physical_id: str, _properties: Properties) -> None:
    """Delete an alarm."""
    account.call("cloudwatch", "delete_alarms", AlarmNames=[physical_id])


def update_alarm(account: Account, physical_id: str, _earlier: Properties, properties: Properties) -> None:
    """Put the alarm as it is to be."""
    account.call("cloudwatch", "put_metric_alarm", **{**properties, "AlarmName": physical_id})


def put_dashboard(account: Account, properties: Properties) -> None:
    """Put the dashboard as it is to be."""
    account.call("cloudwatch", "put_dashboard", **properties)


def delete_dashboard(account: Account, physical_id: str, _properties: Properties) -> None:
    """Delete a dashboard."""
    account.call("cloudwatch", "delete_dashboards", DashboardNames=[physical_id])


KINDS = {
    "AWS::CloudWatch::Dashboard": putting(put_dashboard, delete_dashboard, "DashboardName"),
    "AWS::CloudWatch::Alarm": Kind(create_alarm, delete_alarm, update_alarm),
}
