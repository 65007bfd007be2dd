"""The roll-out to an organization: templates, and the package that StackSets deploy."""
