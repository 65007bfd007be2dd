"""Read a network from the folder of a dump."""
