"""AWS Organizations, as far as moto differs from it."""
