"""express-path doctor."""
