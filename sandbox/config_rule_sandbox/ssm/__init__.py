"""Systems Manager Automation, which moto lacks: runs runbooks as AWS documents, and refuses what is not supported.

with Sandbox() as sandbox, Automation(sandbox) as automation:
    automation.functions.register("plan", plan)
    sandbox.client("ssm").create_document(...)
    automation.execute("MyRunbook", {"SubnetId": "subnet-1"})
"""

from config_rule_sandbox.aws_lambda.functions import Functions
from config_rule_sandbox.ssm.automation import Automation, StillRunningError
from config_rule_sandbox.ssm.faults import FaultyDocumentError
from config_rule_sandbox.ssm.knobs import Knobs
from config_rule_sandbox.ssm.reading import read

__all__ = ["Automation", "FaultyDocumentError", "Functions", "Knobs", "StillRunningError", "read"]
