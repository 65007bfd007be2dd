"""Lambda entries: each composes adapters and domain, and is the only place that logs and counts."""
