"""The tests of the service run without an add-on: the service stands alone."""

from collections.abc import Generator
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import pytest

from placement.surface import Surface

TESTS = Path(__file__).parent


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Hide the add-on from the process of such a test, even if one is installed.

    pytest calls the hook for the tests of all folders.
    """
    is_of_service = item.path.is_relative_to(TESTS)
    with mock.patch("placement.surface.installed", Surface) if is_of_service else nullcontext():
        return (yield)
