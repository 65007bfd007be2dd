"""A local AWS until Ctrl-C: `python -m config_rule_sandbox` prints the environment variables that lead to it, as JSON."""

from contextlib import suppress

from config_rule_sandbox.local_aws import LocalAws, serve

with suppress(KeyboardInterrupt):
    serve(LocalAws())
