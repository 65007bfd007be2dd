"""CloudWatch: metrics in AWS's own namespaces, GetMetricData and ListMetrics, metrics that functions print, and alarms."""
