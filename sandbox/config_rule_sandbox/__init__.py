"""An AWS that runs inside one process: moto's server, corrected where it differs from AWS.

Import what you need from the modules: `config_rule_sandbox.server.Sandbox` is the way in.
"""
