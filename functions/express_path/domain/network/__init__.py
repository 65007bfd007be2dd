"""What exists: addresses, the resources of a network, and the snapshot of them that one decision needs."""
