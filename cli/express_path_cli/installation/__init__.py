"""What is installed in an account and Region: the rule, its function, the recorder, and the sweeps."""
