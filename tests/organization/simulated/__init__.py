"""A sandbox organization under load, which tests/organization/test_simulation.py runs.

Changes happen in many accounts and Regions while messages are late, repeated, and out of order, and while every
function fails now and then. At the end, everything that was derived from the verdicts must equal a fresh scan.
"""
