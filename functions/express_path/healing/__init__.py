"""Answer the steps of the runbooks that heal, ask for approval, and undo. Only the runbooks change anything."""
