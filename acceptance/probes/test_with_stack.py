"""What only the acceptance run shows, and needs the stack or its rule. Each test has the name of its probe."""
