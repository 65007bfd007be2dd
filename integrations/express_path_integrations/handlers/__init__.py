"""The Lambda function of the integrations."""
