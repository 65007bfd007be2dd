"""Check an organization before a roll-out, and read the results after it."""
