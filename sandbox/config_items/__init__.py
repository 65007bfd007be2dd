"""Configuration items of AWS Config, made from what the EC2 API says, and the notifications that carry them."""
