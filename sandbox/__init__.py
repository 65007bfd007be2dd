"""An AWS that runs inside one process: moto's server, with the behaviours of AWS that it lacks put right.

Import what you need from the modules: `sandbox.server.Sandbox` is the way in.
"""
