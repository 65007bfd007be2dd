# The roll-out of docs/organization.md in Terraform: each stack has a template of this folder's parent, which contains a StackSet.
# Run it in the management account, or with call_as = "DELEGATED_ADMIN" in a delegated administrator account of StackSets, after
# `make org-package` and the upload. The Region of the provider is that of the StackSets, and one of var.regions.
terraform {
  required_version = ">= 1.4"
  required_providers { aws = { source = "hashicorp/aws", version = ">= 5.100" } }
}

data "aws_organizations_organization" "current" {}
data "aws_partition" "current" {}
data "aws_region" "current" {}

locals {
  templates = "${path.module}/.."
  package   = { for line in split("\n", trimspace(file(var.package))) : split("=", line)[0] => split("=", line)[1] }
  # Service-managed StackSets belong to the management account, also those that a delegated administrator creates.
  stack_sets = join(":", [
    "arn:${data.aws_partition.current.partition}:cloudformation:${data.aws_region.current.name}",
    data.aws_organizations_organization.current.master_account_id, "stackset",
  ])
  everywhere = {
    Regions              = join(",", var.regions)
    ArtifactBucketPrefix = var.artifact_bucket_prefix
    CallAs               = var.call_as
  }
  # A parameter that is null or empty keeps the default of the template. The provider does not pass on that a value became empty.
  settings = {
    PublicSubnets                = var.public_subnets
    UnresolvedEgress             = var.unresolved_egress
    Scope                        = var.scope
    ExcludeTag                   = var.exclude_tag
    NetworkRoleArn               = var.network_role_arn
    NetworkRoleExternalId        = var.network_role_external_id
    ChangeCalendarName           = var.change_calendar_name
    AdoptIacOwned                = var.adopt_iac_owned
    OwnerTags                    = var.owner_tags
    AutomaticTagKeys             = var.automatic_tag_keys
    WarnOnly                     = var.warn_only
    EndpointPolicyParameter      = var.endpoint_policy_parameter
    Approvers                    = var.approvers
    ApprovalTopicArn             = var.approval_topic_arn
    ApprovalTopicKeyArn          = var.approval_topic_key_arn
    LedgerTableName              = var.ledger_table_name
    AlarmTopicArn                = var.alarm_topic_arn
    AlarmMessages                = var.alarm_messages
    LogRetentionDays             = var.log_retention_days
    PermissionsBoundaryArn       = var.permissions_boundary_arn
    MaxConcurrentPercentage      = var.max_concurrent_percentage
    FailureTolerancePercentage   = var.failure_tolerance_percentage
    RetainStacksOnAccountRemoval = var.retain_stacks_on_account_removal
  }
  units = { for id, unit in var.units : id => merge(local.settings, unit) }
  # Of the parameters that may be empty, only WarnOnly has another default, so an empty one is written into the template.
  rule = { for id, unit in local.units : id => replace(
    file("${local.templates}/stackset.yaml"),
    unit["WarnOnly"] == "" ? "Default: DNS_ATTRIBUTES" : "/^$/",
    "Default: \"\"",
  ) }
  of_integrations = { for id, unit in local.units : id => {
    ExcludedAccountIds = join(",", distinct(compact(concat(
      split(",", lookup(unit, "ExcludedAccountIds", "")), var.excluded_from_integrations
    ))))
    AlarmTopicArn                = unit["AlarmTopicArn"]
    AlarmMessages                = unit["AlarmMessages"]
    LogRetentionDays             = unit["LogRetentionDays"]
    PermissionsBoundaryArn       = unit["PermissionsBoundaryArn"]
    MaxConcurrentPercentage      = unit["MaxConcurrentPercentage"]
    RetainStacksOnAccountRemoval = unit["RetainStacksOnAccountRemoval"]
  } }
  # How long a stack may take: in report mode, work goes on in a share of the accounts at the same time; in the other modes, in one
  # account more than may fail. An update with exclusions is done in all Regions at once, and then in one after the other. All of
  # it counts twice, because a failure is rolled back.
  failing = { for id, unit in local.units : id => floor(
    var.accounts * (lookup(unit, "RemediationMode", "OFF") == "OFF" ? 100 : coalesce(unit["FailureTolerancePercentage"], 10)) / 100
  ) }
  concurrent = { for id, unit in local.units : id => max(1, min(
    floor(var.accounts * coalesce(unit["MaxConcurrentPercentage"], 25) / 100), local.failing[id] + 1
  )) }
  limits = { for id, number in local.concurrent :
    id => "${2 * ceil(var.accounts / number) * (1 + length(var.regions)) * var.minutes_per_instance}m"
  }
}

# The ledger, in every account, before the rule.
resource "aws_cloudformation_stack" "ledger" {
  name          = "express-path-ledger"
  template_body = file("${local.templates}/ledger-stackset.yaml")
  on_failure    = "DELETE" # a change of this replaces the stack
  parameters = { for name, value in merge(local.everywhere, {
    RootId            = var.root_id
    LedgerTemplateKey = local.package["LedgerTemplateKey"]
    LedgerTableName   = var.ledger_table_name
  }) : name => value if try(length(value), 0) > 0 }
  timeouts {
    create = "${2 * (1 + length(var.regions)) * var.minutes_per_instance}m"
    update = "${2 * (1 + length(var.regions)) * var.minutes_per_instance}m"
    delete = "${2 * (1 + length(var.regions)) * var.minutes_per_instance}m"
  }
  lifecycle { prevent_destroy = true }
}

# The rule, one StackSet for each OU. Apply a new version to the canary's OU first: -target='...["ou-ab12-11112222"]'.
resource "aws_cloudformation_stack" "rule" {
  for_each      = local.units
  name          = "express-path-${each.key}"
  template_body = local.rule[each.key]
  on_failure    = "DELETE"
  parameters = { for name, value in merge(each.value, local.everywhere, {
    OrganizationalUnitId = each.key
    LedgerStackSetArn    = "${local.stack_sets}/${aws_cloudformation_stack.ledger.outputs["StackSetId"]}"
    TemplateKey          = local.package["TemplateKey"]
    CodeKey              = local.package["CodeKey"]
  }) : name => value if try(length(value), 0) > 0 }
  timeouts {
    create = local.limits[each.key]
    update = local.limits[each.key]
    delete = local.limits[each.key]
  }
  lifecycle { prevent_destroy = true }
}

# The IDs of the StackSets. While a stack is updated, the provider does not know its outputs. Then a plan in which only the time
# limits of the integrations change would be inconsistent. An ID changes only if the stack is created again.
resource "terraform_data" "rule" {
  for_each         = local.units
  input            = aws_cloudformation_stack.rule[each.key].outputs["StackSetId"]
  triggers_replace = aws_cloudformation_stack.rule[each.key].id
  lifecycle { ignore_changes = [input] }
}

# The integrations, for the same OUs. They are destroyed before the rule, whose event bus they use.
resource "aws_cloudformation_stack" "integrations" {
  for_each      = var.integrations ? local.units : {}
  name          = "express-path-integrations-${each.key}"
  template_body = file("${local.templates}/integrations-stackset.yaml")
  on_failure    = "DELETE"
  parameters = { for name, value in merge(local.of_integrations[each.key], local.everywhere, {
    Regions                 = join(",", [for region in var.regions : region if !contains(var.regions_without_integrations, region)])
    OrganizationalUnitId    = each.key
    RuleStackSetArn         = "${local.stack_sets}/${terraform_data.rule[each.key].output}"
    IntegrationsTemplateKey = local.package["IntegrationsTemplateKey"]
    IntegrationsCodeKey     = local.package["IntegrationsCodeKey"]
  }) : name => value if try(length(value), 0) > 0 }
  timeouts {
    create = local.limits[each.key]
    update = local.limits[each.key]
    delete = local.limits[each.key]
  }
  lifecycle { prevent_destroy = true }
}
