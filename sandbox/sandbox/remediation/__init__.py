"""AWS Config's remediation: configurations, executions, exceptions, and automatic remediation.

with Sandbox() as sandbox, Automation(sandbox) as automation, Remediation(sandbox, automation) as remediation:
    sandbox.client("config").put_remediation_configurations(...)
    remediation.remediate("my-rule")
"""

from sandbox.remediation.memory import Remediations, Run, remediations_of
from sandbox.remediation.service import Remediation

__all__ = ["Remediation", "Remediations", "Run", "remediations_of"]
