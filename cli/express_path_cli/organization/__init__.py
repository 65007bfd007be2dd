"""The accounts of an organization, and clients for each of them."""
