"""Security Hub CSPM where moto lacks it: findings that are checked, merged, and filtered."""
