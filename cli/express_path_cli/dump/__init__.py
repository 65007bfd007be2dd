"""Read and write dumps: folders with the JSON output of the AWS CLI."""
