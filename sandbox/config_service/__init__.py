"""AWS Config's API as it really behaves where moto lacks it: evaluations, compliance and the history of items.

`apply` puts it in force, `results_of` gives tests and the Config loop the service's own memory.
"""

from sandbox.config_service.operations import apply
from sandbox.config_service.results import ConfigResults, Result, results_of

__all__ = ["ConfigResults", "Result", "apply", "results_of"]
