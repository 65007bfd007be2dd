"""Everything outside the core: AWS Config's events and answers, EC2's descriptions, dumps. The only boto3."""
