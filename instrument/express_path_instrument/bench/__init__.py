"""`express-path bench`: measure throughput, latency, and throttling of the path to S3 Express."""
