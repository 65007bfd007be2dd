"""The wheel that pipx installs has everything that the command needs and nothing else.

It is built and installed offline, beside the distributions that it depends on, which are taken from .venv.
"""

import os
import re
import subprocess
import sys
import zipfile
from importlib.metadata import PathDistribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
UV = Path(sys.executable).with_name("uv")
SMOKE = ROOT / ".ci" / "smoke"
WHEELS = ROOT / "build" / "wheels"


def run(*command: str | Path, status: int = 0) -> str:
    """Run a command outside the repository and return its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == status, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of the built wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    python = f"--python={sys.executable}"
    run(UV, "build", "--quiet", "--wheel", "--offline", "--no-build-isolation", python, f"--out-dir={folder}", ROOT)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def command(wheel: Path) -> Path:
    """Return the installed command, in its own environment as with pipx."""
    environment = wheel.parent / "environment"
    python = f"--python={environment}"
    run(UV, "venv", "--quiet", "--offline", f"--python={sys.executable}", environment)
    run(UV, "pip", "install", "--quiet", "--offline", "--no-deps", python, wheel)
    [site] = environment.glob("lib/python*/site-packages")
    [metadata] = site.glob("express_path-*.dist-info")
    for name in dependencies(PathDistribution(metadata).requires or []):
        for top in {file.parts[0] for file in distribution(name).files or ()} - {".."}:
            site.joinpath(top).symlink_to(Path(str(distribution(name).locate_file(top))))
    return environment / "bin" / "express-path"


def dependencies(requires: list[str]) -> set[str]:
    """Return the names of all distributions that these requirements need, directly or not."""
    found: set[str] = set()
    waiting = [Requirement(requirement) for requirement in requires]
    while waiting:
        requirement = waiting.pop()
        if (not requirement.marker or requirement.marker.evaluate()) and requirement.name not in found:
            found.add(requirement.name)
            waiting += map(Requirement, distribution(requirement.name).requires or ())
    return found


def test_wheel_has_every_module_of_the_command(wheel: Path) -> None:
    """The wheel has every file of both packages except the Lambda handlers, and the license."""
    held = set(zipfile.ZipFile(wheel).namelist())
    packages = (ROOT / "functions" / "express_path", ROOT / "cli" / "express_path_cli")
    files = {
        file.relative_to(package.parent).as_posix()
        for package in packages
        for file in package.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts and "handlers" not in file.parts
    }
    assert {name for name in held if ".dist-info/" not in name} == files
    assert any(name.endswith("/LICENSE") for name in held)


def test_every_module_can_be_imported(command: Path) -> None:
    """The wheel's declared dependencies are all that its modules import."""
    everything = (
        "import importlib, pkgutil, express_path, express_path_cli\n"
        "for package in (express_path, express_path_cli):\n"
        "    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        print(importlib.import_module(module.name).__name__)\n"
    )
    imported = run(command.with_name("python"), "-I", "-c", everything).split()
    assert {"express_path.adapters.network_reader", "express_path_cli.scan.command"} <= set(imported)


def test_bench_says_how_to_install_the_instrument(command: Path) -> None:
    """The help lists bench, which another distribution brings; without that one, bench says how to install it."""
    assert "bench" in run(command, "--help")
    for words in (["bench"], ["bench", "--help"], ["bench", "get", "fast--use1-az4--x-s3"]):
        done = subprocess.run([command, *words], capture_output=True, text=True, check=False, cwd="/")
        assert (done.returncode, done.stdout) == (2, "")
        assert "bench is not installed (run: pipx inject express-path ./instrument," in done.stderr


@pytest.mark.long
def test_the_installed_command_works(command: Path) -> None:
    """The installed command does what .ci/smoke tries on each system: help, schemas, and the sample network."""
    environment = {"PATH": f"{command.parent}:{os.environ['PATH']}"}
    done = subprocess.run([SMOKE], capture_output=True, text=True, check=False, cwd="/", env=environment)
    assert done.returncode == 0, done.stderr
    assert "4 subnets: 2 NON_COMPLIANT, 2 COMPLIANT, 0 NOT_APPLICABLE" in done.stdout


@pytest.mark.long
@pytest.mark.skipif(not (WHEELS / ".ready").exists(), reason="`make verify` downloads what the image installs")
def test_the_image_has_the_command_and_its_locked_dependencies(wheel: Path, tmp_path: Path) -> None:
    """The steps of the Dockerfile, in an empty environment instead of a container, leave the command and nothing else."""
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "")
    [(sources, folder)] = re.findall(r"^COPY (.+) (/\S+/)$", dockerfile, re.MULTILINE)
    [step] = re.findall(r"^RUN (.+)$", dockerfile, re.MULTILINE)
    assert sources.split() == ["requirements/command.txt", "dist/express_path-*.whl"]
    context, environment = tmp_path / "context", tmp_path / "environment"
    context.mkdir()
    for file in (ROOT / "requirements" / "command.txt", wheel):
        context.joinpath(file.name).symlink_to(file)
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    binaries = {"PATH": f"{environment / 'bin'}:{os.environ['PATH']}"}
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(WHEELS)}
    subprocess.run(["sh", "-c", step.replace(folder.rstrip("/"), str(context))], check=True, env=binaries | offline)
    assert not context.exists()
    [entry] = re.findall(r'^ENTRYPOINT \["(.+)"\]$', dockerfile, re.MULTILINE)
    assert run(environment / "bin" / entry, "--version") == f"express-path {wheel.name.split('-')[1]}\n"
