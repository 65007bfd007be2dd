"""Where the blocks of a configuration are, also of one that somebody prepared."""

import json
import os
from pathlib import Path

import pytest

from express_path_cli.sources.change import source_lines
from express_path_cli.sources.change.source_lines import Location, has_configuration, lines_of

MAIN = """\
/* resource "no" "a" {
resource "no" "b" {
*/
# resource "no" "c" {
locals {
  text = <<-EOT
resource "no" "d" {
  EOT
  arn  = "arn:aws:s3:::bucket/*"
}
resource "aws_vpc" "this" {}
module "near" {
  count  = 2
  source = "./near"
}
module "installed" {
  source = "terraform-aws-modules/vpc/aws"
}
module "missing" {
  source = "git::https://example.com/module.git"
}
  resource aws_subnet this {
}
"""
BLOCK = 'resource "aws_subnet" "this" {\n}\n'


def write(folder: Path, **files: str) -> None:
    """Write files, and the list of a module that Terraform installed."""
    listed = {"Modules": [{"Key": "", "Dir": "."}, {"Key": "installed", "Dir": "copies/vpc"}]}
    files = {"main.tf": MAIN, ".terraform/modules/modules.json": json.dumps(listed), **files}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="")


def test_blocks_of_all_modules(tmp_path: Path) -> None:
    """Comments and texts have no blocks. The original block counts, and not the one that overrides it."""
    write(tmp_path, **{"near/x.tofu": f"\r\n{BLOCK}", "copies/vpc/main.tf": f"\ufeff{BLOCK}", "a_override.tf": BLOCK})
    assert lines_of(tmp_path) == {
        "aws_vpc.this": Location("main.tf", 11),
        "aws_subnet.this": Location("main.tf", 22),
        "module.near.aws_subnet.this": Location("near/x.tofu", 2),
        "module.installed.aws_subnet.this": Location("copies/vpc/main.tf", 1),
    }


def test_files_are_named_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code scanning looks for a file from the root of the repository, and so does who runs the command there."""
    write(tmp_path / "network", **{"main.tf": 'resource "aws_route" "nat" {\n}\n'})
    for folder, file in ((tmp_path, "network/main.tf"), (tmp_path / "network", "main.tf")):
        monkeypatch.chdir(folder)
        assert lines_of(tmp_path / "network")["aws_route.nat"] == Location(file, 1)


def test_a_module_above_the_folder_has_lines_within_the_repository(tmp_path: Path) -> None:
    """Many repositories keep their modules beside the configurations that call them."""
    folder = tmp_path / "stacks" / "network"
    write(folder, **{"main.tf": 'module "vpc" {\n  source = "../../modules/vpc"\n}\n'})
    write(tmp_path / "modules" / "vpc", **{"main.tf": BLOCK})
    assert lines_of(folder) == {}
    (tmp_path / ".git").mkdir()
    assert lines_of(folder) == {"module.vpc.aws_subnet.this": Location("../../modules/vpc/main.tf", 1)}


def test_nothing_outside_the_folder_is_read(tmp_path: Path) -> None:
    """Links, sources, and installed modules that lead out of the folder are ignored, and so are pipes."""
    outside, inside = tmp_path / "a", tmp_path / "b"
    write(outside, **{"main.tf": BLOCK})
    listed = {"Modules": [{"Key": "installed", "Dir": "../a"}]}
    near = 'module "near" {\n  source = "../a"\n}\nmodule "installed" {\n}\n' + BLOCK
    write(inside, **{"main.tf": near, ".terraform/modules/modules.json": json.dumps(listed)})
    (inside / "link.tf").symlink_to(outside / "main.tf")
    os.mkfifo(inside / "pipe.tf")
    assert lines_of(inside) == {"aws_subnet.this": Location("main.tf", 6)}


@pytest.mark.parametrize(
    "text", ["[" * 5000, "[]", '{"Modules": [{}]}', '{"Modules": [{"Key": [], "Dir": 1}]}', "\x00"]
)
def test_lists_of_modules_that_are_not_valid(tmp_path: Path, text: str) -> None:
    """They are ignored."""
    write(tmp_path, **{".terraform/modules/modules.json": text})
    assert "aws_vpc.this" in lines_of(tmp_path)


def test_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that calls itself ends, and so does reading."""
    write(tmp_path, **{"main.tf": f'module "a" {{\n  source = "./"\n}}\n{BLOCK}'})
    monkeypatch.setattr(source_lines, "MAX_COUNT", 3)
    assert [address.count("module.") for address in lines_of(tmp_path)] == [0, 1, 2]
    monkeypatch.setattr(source_lines, "MAX_TOTAL", 100)
    assert [address.count("module.") for address in lines_of(tmp_path)] == [0]
    monkeypatch.setattr(source_lines, "MAX_BYTES", 40)
    assert not lines_of(tmp_path)


def test_has_configuration(tmp_path: Path) -> None:
    """A configuration in JSON is one, too."""
    assert not has_configuration(tmp_path / "missing")
    assert not has_configuration(tmp_path)
    (tmp_path / "cdk.tf.json").touch()
    assert has_configuration(tmp_path)
