"""The S3 server of the lab: versitygw on a file system in memory, behind the proxy that adds service time."""

import os
import subprocess
import sys
from pathlib import Path

from express_path_instrument.lab.network import SERVER, SERVER_ADDRESS, command_in
from express_path_instrument.lab.proxy import READY

HOST, PORT = SERVER_ADDRESS, 9000
ENDPOINT = f"http://{HOST}:{PORT}"
BUCKET = "lab--lab-az1--x-s3"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "lab",
    "AWS_SECRET_ACCESS_KEY": "lab-secret",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}
"""The environment of the lab's clients: the server's credentials, and nothing of the user's."""
_SERVER_PORT = 7000


class ServerError(Exception):
    """The server or the proxy did not start."""


def start(program: Path, folder: Path, service_seconds: float) -> None:
    """Start the server and the proxy, which end with the lab, and return when both accept connections.

    The bucket is a folder of the server's file system. service_seconds: how long each request waits in the proxy.
    """
    (folder / BUCKET).mkdir(parents=True)
    key, secret = ENVIRONMENT["AWS_ACCESS_KEY_ID"], ENVIRONMENT["AWS_SECRET_ACCESS_KEY"]
    root = {"ROOT_ACCESS_KEY": key, "ROOT_SECRET_KEY": secret}
    # --keep-alive: without it, every request needs a connection of its own.
    gateway = (str(program), "--quiet", "--keep-alive", "--port", f"127.0.0.1:{_SERVER_PORT}", "posix", str(folder))
    subprocess.Popen(command_in(SERVER, *gateway), env={**os.environ, **root}, stdout=subprocess.DEVNULL)
    service = (HOST, str(PORT), "127.0.0.1", str(_SERVER_PORT), str(service_seconds))
    proxy = command_in(SERVER, sys.executable, "-m", "express_path_instrument.lab.proxy", *service)
    process = subprocess.Popen(proxy, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    if process.stdout.readline().strip() != READY:
        raise ServerError(f"{program} did not start, or its proxy did not: exit status {process.wait()}")
