"""express-path org check and org status."""
