"""Lambda entry points: they parse, call and report. Only they log, emit metrics, and read the environment."""
