"""What a heal or an undo may change: plans, pre-flight checks, and the records of the ledger."""
