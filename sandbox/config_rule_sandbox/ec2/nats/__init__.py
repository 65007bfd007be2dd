"""NAT: zonal, private and regional gateways, and instances that forward."""
