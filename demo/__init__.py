"""The demonstration, `make demo`: the rule and the runbooks at work on the sandbox, without an AWS account."""
