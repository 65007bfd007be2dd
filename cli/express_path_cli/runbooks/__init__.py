"""Starting the runbooks of a deployed stack, watching them, and reading the history of heals."""
