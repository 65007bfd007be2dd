"""express-path report."""
