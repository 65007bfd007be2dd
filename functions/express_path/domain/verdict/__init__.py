"""What a path means for the rule: compliance, reason, annotation, and the subnets that a change affects."""
