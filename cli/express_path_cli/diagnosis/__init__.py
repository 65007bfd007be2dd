"""Whether NAT gateways hold traffic up."""
