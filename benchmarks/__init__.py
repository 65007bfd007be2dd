"""Speed and cost, measured beside a floor in the same run and printed as ratios."""
