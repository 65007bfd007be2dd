"""The package for StackSets: plain CloudFormation, and code under the hash of its content."""

import hashlib
import os
import shutil
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from org.expansion import PackageError, expand
from org.package import main, package
from tests.support.organization import Packaged
from tests.support.template import ROOT

SOURCE = (ROOT / "template.yaml").read_text(encoding="utf-8")


def keys(node: Any) -> Iterator[str]:
    """Yield every key anywhere in a template."""
    if isinstance(node, list):
        for item in node:
            yield from keys(item)
    if isinstance(node, dict):
        for key, value in node.items():
            yield key
            yield from keys(value)


def test_template_is_of_a_size_that_stacksets_accept(packaged: Packaged) -> None:
    """A template in a bucket may have 1 MB: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html."""
    assert len(packaged.text("TemplateKey").encode()) < 1_000_000
    assert len(packaged.template["Parameters"]) <= 200
    assert len(packaged.text("LedgerTemplateKey").encode()) < 51_200


def test_every_function_has_the_code_of_its_region(packaged: Packaged) -> None:
    """All functions share one archive, in the bucket of their own Region, under the key that is a parameter."""
    functions = [found for found in packaged.template["Resources"].values() if found["Type"] == "AWS::Lambda::Function"]
    assert len(functions) >= 2
    code = {"S3Bucket": {"Fn::Sub": "${ArtifactBucketPrefix}-${AWS::Region}"}, "S3Key": {"Ref": "CodeKey"}}
    assert [function["Properties"]["Code"] for function in functions] == [code] * len(functions)
    assert packaged.template["Parameters"]["CodeKey"]["Default"] == packaged.keys["CodeKey"]


def test_same_code_gives_the_same_bytes(packaged: Packaged, code: Path, tmp_path: Path) -> None:
    """A copy with other times and permissions, elsewhere, gives the same files with the same names."""
    copied = tmp_path / "elsewhere"
    shutil.copytree(code, copied)
    os.utime(copied / "library.py", (0, 0))
    (copied / "library.py").chmod(stat.S_IRWXU)
    again = package(copied, copied, tmp_path / "org")
    assert again == packaged.keys
    for key in again.values():
        assert (tmp_path / "org" / "upload" / key).read_bytes() == (packaged.upload / key).read_bytes()
    assert {path.name for path in (tmp_path / "org" / "upload").iterdir()} == set(again.values())


def test_changed_code_gets_a_new_key_and_a_new_template(packaged: Packaged, code: Path, tmp_path: Path) -> None:
    """A change of a file changes the keys, so that a StackSet update replaces the code. A key is what Lambda reports."""
    archive = (packaged.upload / packaged.keys["CodeKey"]).read_bytes()
    assert packaged.keys["CodeKey"] == f"{hashlib.sha256(archive).hexdigest()}.zip"
    changed = tmp_path / "changed"
    shutil.copytree(code, changed)
    (changed / "library.py").write_text("VALUE = 2\n", encoding="utf-8")
    new = package(changed, changed, tmp_path / "org")
    assert new["CodeKey"] != packaged.keys["CodeKey"]
    assert new["TemplateKey"] != packaged.keys["TemplateKey"]
    assert new["IntegrationsTemplateKey"] != packaged.keys["IntegrationsTemplateKey"]
    assert new["LedgerTemplateKey"] == packaged.keys["LedgerTemplateKey"]


def test_archive_holds_the_code_as_lambda_reads_it(packaged: Packaged, code: Path) -> None:
    """Every file is in the archive with its content, and everyone may read it."""
    with zipfile.ZipFile(packaged.upload / packaged.keys["CodeKey"]) as archive:
        assert archive.testzip() is None
        entries = {entry.filename: entry for entry in archive.infolist()}
        assert list(entries) == ["express_path/handler.py", "library.py"]
        for name, entry in entries.items():
            assert archive.read(name) == (code / name).read_bytes()
            assert stat.S_IMODE(entry.external_attr >> 16) == 0o644


def test_command_says_what_to_upload_and_deploy(
    code: Path, packaged: Packaged, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The output names each file, how to upload the folder, and the parameters, which are in a file too."""
    main(code, code, tmp_path / "org")
    printed = capsys.readouterr().out
    assert f"aws s3 cp --recursive {tmp_path / 'org' / 'upload'} s3://<prefix>-$region/" in printed
    listed = (tmp_path / "org" / "parameters").read_text(encoding="utf-8").splitlines()
    assert listed == [f"{name}={key}" for name, key in packaged.keys.items()]
    assert all(line in printed for line in listed)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "      Handler: express_path.handlers.plan_heal.handler\n",
            "      Handler: express_path.handlers.plan_heal.handler\n      CodeUri: s3://elsewhere/plan.zip\n",
            "PlanFunction has code of its own",
        ),
        (
            "        - !Sub RemoveS3ExpressGatewayEndpoint-${RuleName}\n",
            "        - {'Fn::Transform': {Name: Uppercase, Parameters: {Text: name}}}\n",
            "a transform is left",
        ),
    ],
)
def test_template_that_stacksets_could_not_deploy_is_refused(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    """A function with other code, or another transform, is an error instead of a package that fails everywhere."""
    assert before in SOURCE
    shutil.copytree(ROOT / "runbooks", tmp_path / "runbooks")
    (tmp_path / "template.yaml").write_text(SOURCE.replace(before, after), encoding="utf-8")
    with pytest.raises(PackageError, match=message):
        expand(tmp_path / "template.yaml", "code.zip")
