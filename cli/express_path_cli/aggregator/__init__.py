"""Reading networks from an aggregator of AWS Config."""
