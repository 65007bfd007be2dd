"""Probes: each asks one thing that nobody has published, in the words of tests/docs/what_we_rely_on.yaml."""
