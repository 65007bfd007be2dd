"""Reading events and items, and reporting evaluations, for any AWS Config rule. Nothing here is specific to a rule."""
