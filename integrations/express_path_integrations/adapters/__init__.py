"""Talk to AWS, and write findings in the format of Security Hub."""
