"""DynamoDB: atomic writes, numbers, and resource policies; what its requests are authorized on."""
