"""Runs of the runbooks, and what the ledger keeps of them."""
