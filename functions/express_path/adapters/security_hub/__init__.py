"""Security Hub: the messages that lead to changes of findings, and the findings themselves."""
