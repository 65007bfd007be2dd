"""express-path stop and start."""
