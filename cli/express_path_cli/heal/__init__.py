"""express-path heal."""
