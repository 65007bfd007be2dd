"""Find NAT gateways that throttle traffic."""
