"""What exists: addresses, resources of a network, and snapshots of them."""
