"""The public events of the rule: their schema, their writer, and their parser."""
