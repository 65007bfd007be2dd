"""express-path cost and diagnose: what the traffic of flagged paths costs, and what limits it."""
