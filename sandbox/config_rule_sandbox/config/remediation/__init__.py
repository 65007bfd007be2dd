"""AWS Config's remediation: configurations, executions, exceptions, and automatic remediation."""
