"""The check-up: does AWS Config record, does the rule run, are reads allowed, can healing work."""
