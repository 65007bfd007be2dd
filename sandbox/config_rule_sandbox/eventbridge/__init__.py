"""EventBridge: what a request may hold, entries that fail, policies, and delivery to Lambda functions, which moto lacks."""
