"""Transit gateways over several accounts: attachments, route tables, routes, and their search."""
