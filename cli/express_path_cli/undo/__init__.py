"""express-path undo and heals."""
