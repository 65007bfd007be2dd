"""express-path collect."""
