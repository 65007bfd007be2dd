"""The roll-out to an organization: templates, the modules that write them, and the package that StackSets deploy."""
