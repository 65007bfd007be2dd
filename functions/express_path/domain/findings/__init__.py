"""Verdicts as findings of Security Hub: what a finding says, and which findings have to change."""
