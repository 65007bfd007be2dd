"""Where a network is read from: live accounts, an aggregator, or the folder of a dump."""
