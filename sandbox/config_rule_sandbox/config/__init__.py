"""AWS Config: what it records, its rules and their loop, evaluations, compliance, aggregators, and remediation."""
