"""Security Hub and OCSF: what follows the events of the rule into other systems. The rule does not need it."""
