"""Explaining one subnet: its path, route by route, and its heal."""
