"""A local AWS until Ctrl-C: `python -m config_rule_sandbox` prints the environment variables that lead to it, as JSON.

With `later_steps=absent`, for example, it gives other answers. With a list of policies as JSON, the variables are those of a
person with these policies, and every request needs a permission.
"""

import sys
from contextlib import suppress

from config_rule_sandbox.local_aws import LocalAws, serve

with suppress(KeyboardInterrupt):
    serve(LocalAws(), sys.argv[1:])
