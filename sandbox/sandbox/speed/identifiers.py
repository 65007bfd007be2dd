"""Makes random identifiers in one step instead of one for each character. Each answer has one of 52 characters."""

from string import ascii_letters, digits

from moto.ec2 import utils
from moto.moto_api._internal import mock_random
from moto.moto_api._internal.moto_random import MotoRandom

from sandbox.patches import Patches


def apply(patches: Patches) -> None:
    """Replace moto's functions for random texts."""
    patches.set(MotoRandom, "get_random_string", _random_string)
    patches.set(MotoRandom, "get_random_hex", _random_hex)
    patches.set(utils, "random_resource_id", lambda size=8: _random_hex(mock_random, size))


def _random_string(
    random: MotoRandom,
    length: int = 20,
    include_digits: bool = True,  # noqa: FBT001, FBT002  # as moto's
    lower_case: bool = False,  # noqa: FBT001, FBT002  # as moto's
) -> str:
    """Return letters and digits, as moto's method of the same name."""
    text = "".join(random.choices(ascii_letters + digits if include_digits else ascii_letters, k=length))
    return text.lower() if lower_case else text


def _random_hex(random: MotoRandom, length: int = 8) -> str:
    """Return hexadecimal digits, as moto's method of the same name."""
    return f"{random.getrandbits(4 * length):0{length}x}" if length else ""
