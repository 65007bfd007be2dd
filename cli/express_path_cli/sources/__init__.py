"""Where a network is read from: the live API, an aggregator, a dump."""
