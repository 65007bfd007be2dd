"""A plan of Terraform or OpenTofu, laid over a network: the network as it would be after the apply."""
