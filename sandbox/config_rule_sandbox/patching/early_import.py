"""Import moto's EC2 models, which takes a second less if their sessions share what they read.

While it is imported, moto asks three sessions for EC2's Regions, and each of them reads EC2's whole service model.
"""

from functools import cache
from unittest.mock import patch

from botocore.loaders import create_loader

with patch("botocore.session.create_loader", cache(create_loader)):
    import moto.ec2.models  # noqa: F401  # only imported, before anything else does
