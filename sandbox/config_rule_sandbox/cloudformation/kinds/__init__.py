"""The resource types that stacks can create: a module for each service, with the calls that create, update, and delete."""
