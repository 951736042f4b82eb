"""Real applications, each with a journey that the 13 tools play."""

import pytest

# So that a wrong state on the server prints both sides.
pytest.register_assert_rewrite("tests.applications.sites")
