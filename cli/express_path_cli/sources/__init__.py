"""The sources that a network is read from: the live API, an aggregator, or a dump."""
