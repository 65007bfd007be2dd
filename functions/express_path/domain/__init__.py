"""The core: the network, the winning route, the path, the verdict, and the plan of a heal. Standard library only."""
