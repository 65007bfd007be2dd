"""A proposed change, such as a Terraform plan or a CloudFormation change set: the network as it would be afterwards."""
