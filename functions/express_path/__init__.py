"""What the Lambda functions of express-path run: the AWS Config rule, and the planning of heals."""
