"""CloudWatch Logs Insights: queries that parse, filter and sum up records."""
