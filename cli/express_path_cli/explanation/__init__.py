"""One subnet's path, route by route, and its heal."""
