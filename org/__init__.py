"""The roll-out to an organization: templates, and the modules that write them."""
