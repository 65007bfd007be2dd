"""What only the acceptance run shows, and needs no stack. Each test has the name of its probe."""
