"""express-path scan."""
