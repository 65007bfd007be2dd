"""Everything that talks to AWS or reads its formats: events, descriptions, the ledger, and the runbooks' requests."""
