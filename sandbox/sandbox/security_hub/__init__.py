"""Security Hub CSPM where moto lacks it: findings that are checked, merged, filtered, and announced as events.

`apply` lets moto answer with it. `findings_of` returns the findings of one account and Region, for tests, and
`config_integration.forward_results` creates the findings that Security Hub makes of AWS Config's results.
"""

from sandbox.security_hub.operations import apply
from sandbox.security_hub.store import Findings, findings_of

__all__ = ["Findings", "apply", "findings_of"]
