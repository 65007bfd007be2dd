"""The NATs that S3 Express traffic crosses: their metrics, prices, owners, and what limits them."""
