"""The Lambda functions of the integrations."""
