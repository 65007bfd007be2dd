"""CloudFormation stacks in the accounts and Regions of the sandbox, instead of moto's.

moto skips the resource types that it does not know, AWS::Config::ConfigRule among them, and ignores Rules and the
patterns of parameters. Here, each resource is created by the API call that AWS's resource handler makes, in the account
and Region of the stack, so that a deployment fails where AWS would fail it, with the error of that call. An
update changes, replaces, and deletes resources as AWS documents it. A resource type, property, function, or change that
is not known here is an error.
"""
