"""Test networks: one YAML file each in tests/networks, expanded to dumps in the format of the AWS CLI."""
