"""Whether NAT gateways throttle traffic."""
