# Three VPCs whose private subnets reach S3 Express through a NAT gateway. Credentials, Region, and endpoint come from
# the environment.
#   inline  no endpoint; route tables with inline routes, with separate routes, and the VPC's main route table
#   shared  an endpoint whose route tables are separate association resources
#   listed  an endpoint that lists its route tables itself

terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

locals {
  vpcs   = toset(["inline", "shared", "listed"])
  tables = toset(["inline-1", "shared-1", "shared-2", "listed-1", "listed-2"])
}

resource "aws_vpc" "all" {
  for_each   = local.vpcs
  cidr_block = "10.1.0.0/16"
}

resource "aws_subnet" "nat" {
  for_each   = local.vpcs
  vpc_id     = aws_vpc.all[each.key].id
  cidr_block = "10.1.0.0/24"
}

resource "aws_nat_gateway" "all" {
  for_each          = local.vpcs
  connectivity_type = "private"
  subnet_id         = aws_subnet.nat[each.key].id
}

resource "aws_subnet" "private" {
  for_each   = local.tables
  vpc_id     = aws_vpc.all[split("-", each.key)[0]].id
  cidr_block = "10.1.${split("-", each.key)[1]}.0/24"
}

resource "aws_route_table" "private" {
  for_each = local.tables
  vpc_id   = aws_vpc.all[split("-", each.key)[0]].id
  route {
    cidr_block     = "0.0.0.0/0"
    nat_gateway_id = aws_nat_gateway.all[split("-", each.key)[0]].id
  }
}

resource "aws_route_table_association" "private" {
  for_each       = local.tables
  subnet_id      = aws_subnet.private[each.key].id
  route_table_id = aws_route_table.private[each.key].id
}

# The route is a resource of its own.
resource "aws_subnet" "separate" {
  vpc_id     = aws_vpc.all["inline"].id
  cidr_block = "10.1.2.0/24"
}

resource "aws_route_table" "separate" {
  vpc_id = aws_vpc.all["inline"].id
}

resource "aws_route" "separate" {
  route_table_id         = aws_route_table.separate.id
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.all["inline"].id
}

resource "aws_route_table_association" "separate" {
  subnet_id      = aws_subnet.separate.id
  route_table_id = aws_route_table.separate.id
}

# Terraform adopts the main route table; the subnet uses it without an association.
resource "aws_subnet" "main" {
  vpc_id     = aws_vpc.all["inline"].id
  cidr_block = "10.1.3.0/24"
}

resource "aws_default_route_table" "main" {
  default_route_table_id = aws_vpc.all["inline"].default_route_table_id
  route {
    cidr_block     = "0.0.0.0/0"
    nat_gateway_id = aws_nat_gateway.all["inline"].id
  }
}

data "aws_region" "current" {}

resource "aws_vpc_endpoint" "shared" {
  vpc_id       = aws_vpc.all["shared"].id
  service_name = "com.amazonaws.${data.aws_region.current.name}.s3express"
}

resource "aws_vpc_endpoint_route_table_association" "shared" {
  vpc_endpoint_id = aws_vpc_endpoint.shared.id
  route_table_id  = aws_route_table.private["shared-1"].id
}

resource "aws_vpc_endpoint" "listed" {
  vpc_id          = aws_vpc.all["listed"].id
  service_name    = "com.amazonaws.${data.aws_region.current.name}.s3express"
  route_table_ids = [aws_route_table.private["listed-1"].id]
}

output "subnets" {
  value = merge(
    {
      separate = aws_subnet.separate.id
      main     = aws_subnet.main.id
    },
    { for name, subnet in aws_subnet.private : name => subnet.id },
  )
}

output "route_tables" {
  value = merge(
    {
      separate = aws_route_table.separate.id
      main     = aws_default_route_table.main.id
    },
    { for name, table in aws_route_table.private : name => table.id },
  )
}

output "listing_endpoint" {
  value = aws_vpc_endpoint.listed.id
}
