"""The output formats: one module for each."""
