"""Route tables: their associations, their routes, and the targets of these."""
