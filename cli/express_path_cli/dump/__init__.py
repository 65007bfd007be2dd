"""Reading and writing dumps: folders with the JSON output of the AWS CLI."""
