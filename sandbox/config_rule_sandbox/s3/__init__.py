"""S3: directory buckets in a list of their own, and policies of buckets with their conditions."""
