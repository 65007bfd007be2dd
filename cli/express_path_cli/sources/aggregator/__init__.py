"""Read a network from an AWS Config aggregator."""
