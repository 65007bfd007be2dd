"""The acceptance run: the stack in a VPC of its own, and what only a run at AWS shows. `make acceptance` starts it."""
