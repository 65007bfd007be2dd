"""The pure core: records of the network, the winning route, the path, the verdict. Standard library only."""
