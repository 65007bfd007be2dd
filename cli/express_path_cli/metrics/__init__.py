"""What CloudWatch records about NAT gateways."""
