"""Systems Manager Automation for runbooks: what moto lacks, executed exactly as AWS documents it, and strictly.

with Sandbox() as sandbox, Automation(sandbox) as automation:
    automation.functions.register("plan", plan)
    sandbox.client("ssm").create_document(...)
    automation.execute("MyRunbook", {"SubnetId": "subnet-1"})
"""

from sandbox.ssm.automation import Automation, StillRunningError
from sandbox.ssm.faults import FaultyDocumentError
from sandbox.ssm.functions import Functions
from sandbox.ssm.knobs import Knobs
from sandbox.ssm.reading import read

__all__ = ["Automation", "FaultyDocumentError", "Functions", "Knobs", "StillRunningError", "read"]
