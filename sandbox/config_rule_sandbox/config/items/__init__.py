"""Configuration items: which there are, what they are made of, and what changed between two."""
