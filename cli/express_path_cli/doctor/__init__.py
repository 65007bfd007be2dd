"""The check-up: is AWS Config recording, is the rule running, may these credentials read, can healing work."""
