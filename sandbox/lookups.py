"""What moto looks up for every request although it never changes while a sandbox runs: looked up once instead.

This changes no answer. Together they took an eighth of the time that tests spend in the sandbox.
"""

from functools import cache

import moto.backends
from moto.core import responses, utils

from sandbox.patches import Patches


def apply(patches: Patches) -> None:
    """Remember moto's list of services, and the names of the methods of each of its response classes."""
    services = tuple(moto.backends.list_of_moto_modules())
    patches.set(moto.backends, "list_of_moto_modules", lambda: services)
    patches.set(responses, "method_names_from_class", cache(utils.method_names_from_class))
