"""What the lab needs from the machine, and what is missing."""

import shutil
import subprocess
import sys
from pathlib import Path

PROGRAMS = {
    "unshare": "util-linux",
    "setpriv": "util-linux",
    "ip": "iproute2",
    "tc": "iproute2",
    "nft": "nftables",
    "sysctl": "procps",
}
"""The programs that the lab runs, and the Debian packages that contain them."""
BUILT_SERVER = Path("build/lab/versitygw")
"""Where `make path-lab` builds the S3 server."""
_SBIN = ":/usr/sbin:/sbin"
"""Many users do not have these folders in PATH, but some of the programs are there."""


def find_program(name: str) -> str | None:
    """Return the path of a program, or None."""
    return shutil.which(name) or shutil.which(name, path=_SBIN)


def find_server() -> Path | None:
    """Return the S3 server: the one that make built, or the one in PATH. None if there is none."""
    if BUILT_SERVER.exists():
        return BUILT_SERVER.resolve()
    found = shutil.which("versitygw")
    return Path(found) if found else None


def missing() -> list[str]:
    """Return what the machine lacks and how to get it, as sentences; an empty list if the lab can run."""
    packages = sorted({PROGRAMS[name] for name in PROGRAMS if not find_program(name)})
    found = [f"Install {package}, for example with: apt-get install {package}" for package in packages]
    if not (find_server() or find_program("go")):
        found.append("Install Go, which builds the S3 server versitygw: https://go.dev/dl")
    if not packages and (error := _namespace_error()):
        found.append(
            f"This user cannot create user and network namespaces ({error}). See the sysctl settings "
            "user.max_user_namespaces, kernel.unprivileged_userns_clone, and "
            "kernel.apparmor_restrict_unprivileged_userns; in a container, allow the system call unshare"
        )
    return found


def _namespace_error() -> str:
    """Return why namespaces cannot be created, or an empty string."""
    unshare, ip = find_program("unshare"), find_program("ip")
    tried = subprocess.run(
        [str(unshare), "-Urnmpf", "--mount-proc", "--kill-child", str(ip), "link", "add", "lab0", "type", "veth"],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if tried.returncode == 0 else tried.stderr.strip() or f"exit status {tried.returncode}"


if __name__ == "__main__":  # before anything is built
    sys.exit("\n".join(missing()) or None)
