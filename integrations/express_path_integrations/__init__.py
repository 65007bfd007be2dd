"""Findings in Security Hub that follow the verdicts of the rule. The rule does not need them."""
