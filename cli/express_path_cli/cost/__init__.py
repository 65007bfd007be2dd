"""What S3 Express costs at NAT gateways."""
