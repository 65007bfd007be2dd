"""What holds for all tests."""

from hypothesis import settings

# How long an example takes says nothing on a shared machine; how to repeat a failure does.
settings.register_profile("express-path", deadline=None, print_blob=True)
settings.load_profile("express-path")
