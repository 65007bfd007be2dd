"""The runbooks of a deployed stack: start them, watch their runs, and read the history of heals."""
