"""Configuration items of AWS Config, made from the EC2 API's answers, and the notifications that carry them."""
