# The provider that the workflow verify installs. For another version: terraform providers lock -platform=linux_amd64

provider "registry.terraform.io/hashicorp/aws" {
  version = "5.100.0"
  hashes = [
    "h1:edXOJWE4ORX8Fm+dpVpICzMZJat4AX0VRCAy/xkcOc0=",
  ]
}
