# What the roll-out sets. A variable that has the name of a parameter of org/stackset.yaml is valid for every OU; null keeps the
# default of the template, whose description says what the parameter does.

variable "units" {
  description = "The OUs, and the parameters of org/stackset.yaml that only they have: { ou-ab12-11112222 = { RemediationMode = \"OFF\" } }"
  type        = map(map(string))
}

variable "root_id" {
  description = "The ID of the organization's root, such as r-ab12."
  type        = string
}

variable "regions" {
  description = "The Regions of the roll-out. Each needs an artifact bucket."
  type        = list(string)
}

variable "artifact_bucket_prefix" {
  description = "The first part of the names of the artifact buckets."
  type        = string
}

variable "package" {
  description = "The file that make org-package writes, with the keys of what was uploaded."
  type        = string
  default     = "../../build/org/parameters"
}

variable "integrations" {
  description = "Whether the integrations with Security Hub are deployed, too."
  type        = bool
  default     = false
}

variable "excluded_from_integrations" {
  description = "Accounts that do not get the integrations. Apply this before you exclude an account from the rule, whose bus they use."
  type        = list(string)
  default     = []
}

variable "regions_without_integrations" {
  description = "Regions that do not get the integrations. Apply this before you remove a Region, whose buses they use."
  type        = list(string)
  default     = []
}

variable "call_as" {
  description = "SELF in the management account, DELEGATED_ADMIN in a delegated administrator account of StackSets."
  type        = string
  default     = "SELF"
}

variable "accounts" {
  description = "The number of accounts of the largest OU, from which the time limits are computed."
  type        = number
}

variable "minutes_per_instance" {
  description = "How long a stack takes in one account and Region."
  type        = number
  default     = 5
}

variable "max_concurrent_percentage" {
  description = "MaxConcurrentPercentage"
  type        = string
  default     = null
}

variable "failure_tolerance_percentage" {
  description = "FailureTolerancePercentage"
  type        = string
  default     = null
}

variable "retain_stacks_on_account_removal" {
  description = "RetainStacksOnAccountRemoval"
  type        = string
  default     = null
}

variable "approvers" {
  description = "Approvers"
  type        = string
  default     = null
}

variable "public_subnets" {
  description = "PublicSubnets"
  type        = string
  default     = null
}

variable "unresolved_egress" {
  description = "UnresolvedEgress"
  type        = string
  default     = null
}

variable "scope" {
  description = "Scope"
  type        = string
  default     = null
}

variable "exclude_tag" {
  description = "ExcludeTag"
  type        = string
  default     = null
}

variable "network_role_arn" {
  description = "NetworkRoleArn"
  type        = string
  default     = null
}

variable "network_role_external_id" {
  description = "NetworkRoleExternalId"
  type        = string
  default     = null
}

variable "change_calendar_name" {
  description = "ChangeCalendarName"
  type        = string
  default     = null
}

variable "adopt_iac_owned" {
  description = "AdoptIacOwned"
  type        = string
  default     = null
}

variable "owner_tags" {
  description = "OwnerTags"
  type        = string
  default     = null
}

variable "automatic_tag_keys" {
  description = "AutomaticTagKeys"
  type        = string
  default     = null
}

variable "warn_only" {
  description = "WarnOnly"
  type        = string
  default     = null
}

variable "endpoint_policy_parameter" {
  description = "EndpointPolicyParameter"
  type        = string
  default     = null
}

variable "ledger_table_name" {
  description = "LedgerTableName"
  type        = string
  default     = null
}

variable "log_retention_days" {
  description = "LogRetentionDays"
  type        = string
  default     = null
}

variable "alarm_topic_arn" {
  description = "AlarmTopicArn"
  type        = string
  default     = null
}

variable "alarm_messages" {
  description = "AlarmMessages"
  type        = string
  default     = null
}

variable "approval_topic_arn" {
  description = "ApprovalTopicArn"
  type        = string
  default     = null
}

variable "approval_topic_key_arn" {
  description = "ApprovalTopicKeyArn"
  type        = string
  default     = null
}

variable "permissions_boundary_arn" {
  description = "PermissionsBoundaryArn"
  type        = string
  default     = null
}
