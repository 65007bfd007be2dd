"""What to do about a verdict: the remedy that events and the command show. It decides nothing."""
