"""What the plan function does for the steps of the runbooks: heal, ask for approval, and undo. It only reads."""
