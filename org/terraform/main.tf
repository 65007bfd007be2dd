# The StackSets of docs/organization.md in Terraform. Run it in the management account, after `make org-package` and the upload.
terraform {
  required_providers { aws = { source = "hashicorp/aws", version = ">= 5.100" } }
}

variable "modes" { type = map(string) }    # RemediationMode by OU: { "ou-ab12-11112222" = "OFF" }
variable "root_id" { type = string }       # r-ab12
variable "regions" { type = list(string) } # each with an artifact bucket
variable "artifact_bucket_prefix" { type = string }
variable "package" { type = map(string) } # build/org/parameters: TemplateKey, CodeKey, LedgerTemplateKey
variable "parameters" {                   # other parameters of org/stackset.yaml
  type    = map(string)
  default = { ExcludeTag = "NONE" }
}

locals {
  bucket = "https://${var.artifact_bucket_prefix}-${var.regions[0]}.s3.${var.regions[0]}.amazonaws.com"
  ledger = { ledger = { target = var.root_id, template = "LedgerTemplateKey", parameters = {} } }
  rules = { for ou, mode in var.modes : ou => { target = ou, template = "TemplateKey", parameters = merge(var.parameters, {
    ArtifactBucketPrefix = var.artifact_bucket_prefix, CodeKey = var.package["CodeKey"], RemediationMode = mode
  }) } }
}

resource "aws_cloudformation_stack_set" "express_path" {
  for_each         = merge(local.ledger, local.rules)
  name             = "express-path-${each.key}"
  permission_model = "SERVICE_MANAGED"
  capabilities     = ["CAPABILITY_IAM"]
  template_url     = "${local.bucket}/${var.package[each.value.template]}"
  parameters       = merge({ LedgerTableName = "express-path-ledger" }, each.value.parameters)
  auto_deployment {
    enabled                          = true
    retain_stacks_on_account_removal = each.key == "ledger"
  }
  managed_execution { active = true }
}

resource "aws_cloudformation_stack_instances" "express_path" {
  for_each       = merge(local.ledger, local.rules)
  stack_set_name = aws_cloudformation_stack_set.express_path[each.key].name
  regions        = var.regions
  deployment_targets { organizational_unit_ids = [each.value.target] }
  operation_preferences { failure_tolerance_percentage = 100 }
}
