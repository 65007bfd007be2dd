# The StackSets of docs/organization.md in Terraform. Run it in the management account, or with call_as = "DELEGATED_ADMIN" in a
# delegated administrator account of StackSets, after `make org-package` and the upload.
terraform {
  required_providers { aws = { source = "hashicorp/aws", version = ">= 5.100" } }
}

variable "modes" { type = map(string) }    # RemediationMode by OU: { "ou-ab12-11112222" = "OFF" }
variable "root_id" { type = string }       # r-ab12
variable "regions" { type = list(string) } # each with an artifact bucket
variable "artifact_bucket_prefix" { type = string }
variable "package" { type = map(string) } # build/org/parameters: TemplateKey, CodeKey, LedgerTemplateKey
variable "parameters" {                   # other parameters of template.yaml, except RemediationMode
  type    = map(string)
  default = { ExcludeTag = "NONE" }
}
variable "excluded_account_ids" { # accounts that do not get the rule: those that `express-path org check` finds BLOCKED
  type    = set(string)
  default = []
}
variable "call_as" {
  type    = string
  default = "SELF"
}

locals { bucket = "https://${var.artifact_bucket_prefix}-${var.regions[0]}.s3.${var.regions[0]}.amazonaws.com" }

# The ledger, in every account, before the rule.
resource "aws_cloudformation_stack_set" "ledger" {
  name             = "express-path-ledger"
  permission_model = "SERVICE_MANAGED"
  call_as          = var.call_as
  template_url     = "${local.bucket}/${var.package["LedgerTemplateKey"]}"
  parameters       = { LedgerTableName = "express-path-ledger" }
  auto_deployment {
    enabled                          = true
    retain_stacks_on_account_removal = true
  }
  managed_execution { active = true }
  operation_preferences {
    failure_tolerance_percentage = 10
    max_concurrent_percentage    = 100
    region_concurrency_type      = "PARALLEL"
  }
  lifecycle { ignore_changes = [administration_role_arn] } # service-managed StackSets have none, but AWS answers with one
}

resource "aws_cloudformation_stack_instances" "ledger" {
  stack_set_name = aws_cloudformation_stack_set.ledger.name
  call_as        = var.call_as
  regions        = var.regions
  deployment_targets { organizational_unit_ids = [var.root_id] }
  operation_preferences {
    concurrency_mode             = "STRICT_FAILURE_TOLERANCE"
    failure_tolerance_percentage = 10
    max_concurrent_percentage    = 100
    region_concurrency_type      = "PARALLEL"
  }
}

# The rule, one StackSet for each OU. Apply a new version to the canary's OU first: -target='...["ou-ab12-11112222"]'.
resource "aws_cloudformation_stack_set" "rule" {
  for_each         = var.modes
  name             = "express-path-${each.key}"
  permission_model = "SERVICE_MANAGED"
  call_as          = var.call_as
  capabilities     = ["CAPABILITY_IAM"]
  template_url     = "${local.bucket}/${var.package["TemplateKey"]}"
  parameters = merge({ LedgerTableName = "express-path-ledger" }, var.parameters, {
    ArtifactBucketPrefix = var.artifact_bucket_prefix, CodeKey = var.package["CodeKey"], RemediationMode = each.value
  })
  auto_deployment {
    enabled                          = true
    retain_stacks_on_account_removal = false
  }
  managed_execution { active = true }
  operation_preferences {
    failure_tolerance_percentage = 10
    max_concurrent_percentage    = 25
    region_concurrency_type      = "PARALLEL"
  }
  lifecycle { ignore_changes = [administration_role_arn] }
  depends_on = [aws_cloudformation_stack_instances.ledger]
}

resource "aws_cloudformation_stack_instances" "rule" {
  for_each       = var.modes
  stack_set_name = aws_cloudformation_stack_set.rule[each.key].name
  call_as        = var.call_as
  regions        = var.regions
  deployment_targets {
    organizational_unit_ids = [each.key]
    account_filter_type     = length(var.excluded_account_ids) > 0 ? "DIFFERENCE" : "NONE"
    accounts                = var.excluded_account_ids
  }
  operation_preferences {
    concurrency_mode             = "STRICT_FAILURE_TOLERANCE"
    failure_tolerance_percentage = 10
    max_concurrent_percentage    = 25
    region_concurrency_type      = "PARALLEL"
  }
}
