"""Run a program in namespaces of its own: users, network, mounts, and processes. Nothing survives its end."""

import subprocess
from collections.abc import Sequence

from express_path_instrument.lab.needs import find_program


class IsolatedError(Exception):
    """The program failed, or took too long."""


def run_isolated(command: Sequence[str], seconds: float) -> str:
    """Run a command as process 1 of new namespaces and return its output. Raise IsolatedError if it fails.

    The new network has no link to any other. If this process dies, also by SIGKILL, the kernel kills unshare (setpriv
    --pdeathsig), which takes process 1 with it (--kill-child), and with process 1 everything in the namespaces. After
    some seconds, the same happens.
    """
    kill_with_parent = [str(find_program("setpriv")), "--pdeathsig", "KILL"]
    new_namespaces = [str(find_program("unshare")), "-Urnmpf", "--mount-proc", "--kill-child"]
    line = [*kill_with_parent, *new_namespaces, *command]
    try:
        done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise IsolatedError(f"the lab took longer than {seconds:g} s and was ended") from error
    except subprocess.CalledProcessError as error:
        raise IsolatedError(f"the lab ended with status {error.returncode}; its errors are above") from error
    return done.stdout
