"""JSON Schemas of what express-path writes."""
