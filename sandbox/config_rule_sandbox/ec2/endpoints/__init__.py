"""VPC endpoints: their services, their checks, their routes, and their states."""
