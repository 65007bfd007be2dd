"""express-path heal, undo, and heals."""
