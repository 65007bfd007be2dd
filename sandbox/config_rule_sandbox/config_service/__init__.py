"""AWS Config's API where moto lacks it: evaluations, compliance and the history of items.

`apply` adds it to moto. `results_of` returns the stored results, for tests and the Config loop.
"""

from config_rule_sandbox.config_service.operations import apply
from config_rule_sandbox.config_service.results import ConfigResults, Result, results_of

__all__ = ["ConfigResults", "Result", "apply", "results_of"]
