"""IAM: enforced permissions as IAM decides them, by policies with resources and conditions."""
