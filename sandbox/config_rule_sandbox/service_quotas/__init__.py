"""Service Quotas: applied values apart from AWS's defaults."""
