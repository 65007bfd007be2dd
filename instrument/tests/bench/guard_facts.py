"""Run the commands of `bench` towards servers that they must not reach, in a network of its own, and count packets.

It runs as process 1 of new namespaces, whose only way out is a link on which every TCP and UDP packet is counted.
Prints JSON: for each case and command, the exit status, the message, and how many packets left.
"""

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from express_path_cli.main import app
from express_path_instrument.lab.needs import find_program
from instrument.tests.bench.raw_server import response, serving

OUTSIDE, OUTSIDE_6 = "203.0.113.9", "2001:db8::9"
NAMES = {
    "public.example": [OUTSIDE],
    "dual.example": ["127.0.0.1", OUTSIDE_6],
    "changing.example": ["127.0.0.1"],
    **{
        f"{name}.us-east-1.amazonaws.com": ["127.0.0.1"]
        for name in ("lab.s3", "fast--use1-az4--x-s3.s3express-use1-az4", "ec2", "sts", "portal.sso")
    },
}
HOSTS, CONFIG = Path("/run/hosts"), Path("/run/config")
SHORT = ["--size", "1KiB", "--objects", "1", "--repeats", "1", "--quiet", "--region", "us-east-1"]
STEPS = [*SHORT, "--processes", "1", "--timeout", "1", "--warm-up", "0"]
ONE = ["lab", *STEPS, "--connections", "1", "--count", "1"]
COMMANDS = {
    "get": ["get", *ONE],
    "put": ["put", *ONE],
    "open": ["open", "lab", *STEPS, "--rate", "1", "--duration", "0.1"],
}
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true"}
PROXIES = {
    name: f"http://{OUTSIDE}:3128"
    for scheme in ("http", "https", "all")
    for name in (f"{scheme}_proxy", f"{scheme}_proxy".upper())
}
LAB = ("--endpoint-url", "http://127.0.0.1:9")
PATH = ("--subnet", "subnet-0a1b2c3d4e5f60718", "--allow-other-zone")
ROLE = """[default]
role_arn=arn:aws:iam::111122223333:role/measuring
source_profile=base
[profile base]
aws_access_key_id=key
aws_secret_access_key=secret
"""


@dataclass(frozen=True, slots=True)
class Case:
    """Options and variables that lead elsewhere, and the text of the AWS settings, in which {outside} is a public address.

    redirects: to what a lab answers with a redirect: the start of the request's first line.
    """

    options: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=lambda: KEYS)
    settings: str = ""
    redirects: str = ""


def with_keys(**variables: str) -> Mapping[str, str]:
    """Return variables with credentials."""
    return {**KEYS, **variables}


CASES = {
    "public name": Case(("--endpoint-url", "http://public.example")),
    "dual-stack name": Case(("--endpoint-url", "http://dual.example:9")),
    "mapped address": Case(("--endpoint-url", f"http://[::ffff:{OUTSIDE}]:9")),
    "user in the URL": Case(("--endpoint-url", f"http://127.0.0.1@{OUTSIDE}")),
    "AWS_ENDPOINT_URL": Case((), with_keys(AWS_ENDPOINT_URL=f"http://{OUTSIDE}")),
    "AWS_ENDPOINT_URL_S3": Case((), with_keys(AWS_ENDPOINT_URL_S3=f"http://{OUTSIDE}")),
    "AWS_ENDPOINT_URL_EC2": Case(PATH, with_keys(AWS_ENDPOINT_URL_EC2=f"http://{OUTSIDE}")),
    "AWS_ENDPOINT_URL_STS": Case(PATH, with_keys(AWS_ENDPOINT_URL_STS=f"http://{OUTSIDE}")),
    "AWS_ENDPOINT_URL in the lab": Case(LAB, with_keys(AWS_ENDPOINT_URL=f"http://{OUTSIDE}")),
    "endpoint_url": Case((), settings="[default]\nendpoint_url=http://{outside}\n"),
    "services": Case(settings="[default]\nservices=x\n[services x]\ns3 =\n  endpoint_url=http://{outside}\n"),
    "services in the lab": Case(
        LAB, settings="[default]\nservices=x\n[services x]\nsts =\n  endpoint_url=http://{outside}\n"
    ),
    "proxies": Case(LAB, with_keys(**PROXIES)),
    "metadata": Case((), {"AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://{OUTSIDE}"}),
    "metadata in the settings": Case(LAB, {}, "[default]\nec2_metadata_service_endpoint=http://{outside}\n"),
    "metadata through proxies": Case(LAB, {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:9", **PROXIES}),
    "container": Case(LAB, {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"https://{OUTSIDE}/credentials"}),
    "role through proxies": Case(LAB, {"AWS_EC2_METADATA_DISABLED": "true", **PROXIES}, ROLE),
    "changing name": Case(("--endpoint-url", "http://changing.example:9")),
    "changing name with TLS": Case(("--endpoint-url", "https://changing.example:9")),
    "redirect": Case(redirects=" "),
    "redirected reads": Case(redirects="GET "),
}


def run(program: str, *arguments: str) -> str:
    """Run a program and return its output."""
    return subprocess.run([str(find_program(program)), *arguments], check=True, capture_output=True, text=True).stdout


def build() -> None:
    """Create the link to the outside, the counter, and the names."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "out", "type", "veth", "peer", "name", "far")
    for link in ("out", "far"):
        run("ip", "link", "set", link, "up")
    for address, gateway in (("192.0.2.1/24", "192.0.2.2"), ("2001:db8:1::1/64", "2001:db8:1::2")):
        run("ip", "address", "add", address, "dev", "out", *(["nodad"] if ":" in address else []))
        run("ip", "route", "add", "default", "via", gateway)
        run("ip", "neigh", "add", gateway, "lladdr", "02:00:00:00:00:01", "dev", "out")
    run("nft", "add table inet facts; add chain inet facts out { type filter hook output priority 0; }")
    run("nft", 'add rule inet facts out oifname "out" meta l4proto { tcp, udp } counter')
    run("mount", "-t", "tmpfs", "tmpfs", str(HOSTS.parent))
    write_names(NAMES)
    run("mount", "--bind", str(HOSTS), "/etc/hosts")


def write_names(names: Mapping[str, Sequence[str]]) -> None:
    """Let names resolve to these addresses, for this process and its children."""
    HOSTS.write_text("".join(f"{address} {name}\n" for name, found in names.items() for address in found))


def packets() -> int:
    """Return how many packets have left."""
    rules = json.loads(run("nft", "-j", "list", "ruleset"))["nftables"]
    [counter] = [part["counter"] for row in rules for part in row.get("rule", {}).get("expr", ()) if "counter" in part]
    return int(counter["packets"])


def let_the_name_change() -> None:
    """Let changing.example lead outside as soon as it was looked up once."""
    original = socket.getaddrinfo

    def getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        found = original(host, *arguments, **options)
        if host == "changing.example":
            write_names(NAMES | {host: [OUTSIDE]})
        return found

    socket.getaddrinfo = getaddrinfo


def measure(line: Sequence[str], case: Case) -> tuple[int, str, int]:
    """Run a command, and return its exit status, its message, and how many packets left."""
    write_names(NAMES)
    CONFIG.write_text(case.settings.format(outside=OUTSIDE))
    os.environ.update(case.variables)
    before, errors, status = packets(), io.StringIO(), 0
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            app(["bench", *line])
        except SystemExit as ended:
            status = int(ended.code or 0)
    for variable in case.variables:
        os.environ.pop(variable)
    return status, errors.getvalue(), packets() - before


def redirecting(which: str, request: bytes) -> bytes:
    """Answer as a lab that redirects some of its requests outside, as S3 does for a bucket in another Region."""
    if which in request.decode().partition("\r\n")[0]:
        error = f"<Error><Code>TemporaryRedirect</Code><Endpoint>{OUTSIDE}</Endpoint></Error>".encode()
        return response(
            "307 Temporary Redirect", error, f"Location: http://{OUTSIDE}/", "x-amz-bucket-region: eu-west-1"
        )
    return response("200 OK")


def facts() -> Iterator[tuple[str, str, int, str, int]]:
    """Yield each case, command, exit status, message, and number of packets."""
    for case, what in CASES.items():
        for name, command in COMMANDS.items():
            with serving(lambda request, which=what.redirects: redirecting(which, request)) as raw:
                options = ["--endpoint-url", raw.url] if what.redirects else what.options
                yield (case, name, *measure([*command, *options], what))


if __name__ == "__main__":
    build()
    for outside in (OUTSIDE, OUTSIDE_6):
        code = f"import socket; socket.socket({10 if ':' in outside else 2}, 2).sendto(b'', ('{outside}', 9))"
        subprocess.run([sys.executable, "-c", code], check=True)
    for variable in [name for name in os.environ if name.startswith("AWS_") or name.lower().endswith("_proxy")]:
        del os.environ[variable]
    os.environ |= {"AWS_CONFIG_FILE": str(CONFIG), "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    let_the_name_change()
    json.dump({"control": packets(), "facts": list(facts())}, sys.stdout)
