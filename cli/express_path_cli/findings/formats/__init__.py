"""The output formats of findings."""
