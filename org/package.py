"""Write what StackSets deploy, and say where to upload it: `python -m org.package CODE INTEGRATIONS OUTPUT`.

`make org-package` builds the two folders with code and runs this. The output folder then contains:
- upload/<hash>.zip: the code of the rule's functions, and that of the integrations;
- upload/express-path-<hash>.json: template.yaml as plain CloudFormation;
- upload/express-path-integrations-<hash>.json: integrations/template.yaml as plain CloudFormation;
- upload/express-path-ledger-<hash>.yaml: the template of the ledger;
- parameters: the keys of these files, as parameters of the templates in org/.
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path

from org.archive import write_archive
from org.expansion import PackageError, expand

ROOT = Path(__file__).parents[1]
TEMPLATE = ROOT / "template.yaml"
INTEGRATIONS = ROOT / "integrations" / "template.yaml"
LEDGER = ROOT / "org" / "ledger.yaml"
NEXT = """\
Wrote {upload}:
{files}

1. Upload them to the artifact bucket of every Region (org/artifact-bucket.yaml):
     for region in <regions>; do
       aws s3 cp --recursive {upload} s3://<prefix>-$region/ --region $region
     done
2. Deploy org/stackset.yaml for each OU, the first time and after each change of the code, and then
   org/integrations-stackset.yaml where you want the integrations, with these keys:
{parameters}
   They are also in {listed}. docs/organization.md shows the whole command.
"""


def package(code: Path, integrations: Path, output: Path) -> dict[str, str]:
    """Write the package of the folders with the functions' code; return the keys of its files by parameter."""
    upload = output / "upload"
    shutil.rmtree(output, ignore_errors=True)
    upload.mkdir(parents=True)
    code_key, integrations_key = _archived(code, upload), _archived(integrations, upload)
    keys = {
        "CodeKey": code_key,
        "TemplateKey": _write(upload, "express-path", ".json", _expanded(TEMPLATE, code_key)),
        "IntegrationsCodeKey": integrations_key,
        "IntegrationsTemplateKey": _write(
            upload, "express-path-integrations", ".json", _expanded(INTEGRATIONS, integrations_key)
        ),
        "LedgerTemplateKey": _write(upload, "express-path-ledger", ".yaml", LEDGER.read_text(encoding="utf-8")),
    }
    listed = "".join(f"{name}={key}\n" for name, key in keys.items())
    (output / "parameters").write_text(listed, encoding="utf-8")
    return keys


def _archived(code: Path, folder: Path) -> str:
    """Write an archive of code under its hash, which Lambda reports as CodeSha256; return the name of the file."""
    archive = folder / "code.zip"
    write_archive(code, archive)
    key = f"{hashlib.sha256(archive.read_bytes()).hexdigest()}.zip"
    archive.rename(folder / key)
    return key


def _expanded(template: Path, code_key: str) -> str:
    """Return a SAM template as the text of plain CloudFormation."""
    return json.dumps(expand(template, code_key), indent=1, ensure_ascii=False) + "\n"


def _write(folder: Path, name: str, suffix: str, text: str) -> str:
    """Write a template under the hash of its text; return the name of the file."""
    key = f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}{suffix}"
    (folder / key).write_text(text, encoding="utf-8")
    return key


def main(code: Path, integrations: Path, output: Path) -> None:
    """Write the package, and print what to do with it."""
    keys = package(code, integrations, output)
    files = [f"  {(output / 'upload' / key).stat().st_size:>11,} bytes  {key}" for key in keys.values()]
    parameters = [f"     {name}={key}" for name, key in keys.items()]
    text = NEXT.format(
        upload=output / "upload", files="\n".join(files), parameters="\n".join(parameters), listed=output / "parameters"
    )
    sys.stdout.write(text)


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:4]))
    except PackageError as error:
        sys.exit(f"org-package: {error}")
