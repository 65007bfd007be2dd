# Keeps the subnets that violate s3express-no-nat-path. Input: the output of "aws configservice select-..." as JSON.
[.Results[] | fromjson
  | select(any(.configuration.configRuleList[];
      .configRuleName == "s3express-no-nat-path" and .complianceType == "NON_COMPLIANT"))
  | {accountId, awsRegion, subnetId: .configuration.targetResourceId}]
