"""What IAM policies say about requests on the NAT path and on the endpoint path."""
