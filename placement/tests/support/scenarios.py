"""The API scenarios: the gabbi files of the functional tests."""

import unittest
from pathlib import Path

import yaml
from gabbi import handlers, suitemaker

GABBITS = Path(__file__).parents[1] / "functional" / "gabbits"


def scenarios():
    """Return the paths of the files; each is one scenario, which starts with an empty database."""
    return sorted(GABBITS.glob("*.yaml"))


def suite(path, application):
    """Return the test suite of a file, with its requests sent to a WSGI application."""
    return suitemaker.test_suite_from_dict(
        unittest.TestLoader(),
        path.stem,
        yaml.load(path.read_bytes(), yaml.CSafeLoader),  # ten times faster than that of gabbi
        str(path.parent),
        host=path.stem,
        port=None,
        fixture_module=None,
        intercept=lambda: application,
        handlers=[handler() for handler in handlers.RESPONSE_HANDLERS],
    )
