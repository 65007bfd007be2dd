"""The actions of Automation that runbooks may use here.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html has more of them.
"""

from config_rule_sandbox.ssm.actions.approve import APPROVE
from config_rule_sandbox.ssm.actions.aws_api import EXECUTE
from config_rule_sandbox.ssm.actions.base import Action
from config_rule_sandbox.ssm.actions.branch import BRANCH
from config_rule_sandbox.ssm.actions.execute_automation import EXECUTE_AUTOMATION
from config_rule_sandbox.ssm.actions.execute_script import EXECUTE_SCRIPT
from config_rule_sandbox.ssm.actions.invoke_lambda import INVOKE
from config_rule_sandbox.ssm.actions.loop import LOOP
from config_rule_sandbox.ssm.actions.sleep import SLEEP

ACTIONS: dict[str, Action] = {
    "aws:approve": APPROVE,
    "aws:branch": BRANCH,
    "aws:executeAutomation": EXECUTE_AUTOMATION,
    "aws:executeAwsApi": EXECUTE,
    "aws:executeScript": EXECUTE_SCRIPT,
    "aws:invokeLambdaFunction": INVOKE,
    "aws:loop": LOOP,
    "aws:sleep": SLEEP,
}
"""Actions by their names."""
