"""AWS Config's API as it really behaves where moto lacks it: evaluations, compliance and the history of items.

`apply` and `in_force` put it in force, `results_of` gives tests and the Config loop the service's own memory.
"""

from sandbox.config_service.operations import apply, in_force
from sandbox.config_service.results import ConfigResults, Result, results_of

__all__ = ["ConfigResults", "Result", "apply", "in_force", "results_of"]
