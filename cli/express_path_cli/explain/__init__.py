"""express-path explain."""
