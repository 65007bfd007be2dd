"""Reading events and items, and reporting results, for any AWS Config rule. Nothing here is specific to a rule."""
