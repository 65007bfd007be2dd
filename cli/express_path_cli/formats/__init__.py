"""How verdicts are written: one module for each format."""
