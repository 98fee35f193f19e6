"""The interface over HTTP, as the files in ``gabbits`` tell it, on each database.

A file is a story: its requests are made in order, from an empty database on.
"""

import unittest
from pathlib import Path

import pytest
from gabbi import handlers, suitemaker, utils

GABBITS = Path(__file__).parent / "gabbits"


def stories():
    return sorted(GABBITS.glob("*.yaml"))


def suite(path, application):
    return suitemaker.test_suite_from_dict(
        unittest.TestLoader(),
        path.stem,
        utils.load_yaml(yaml_file=str(path)),
        str(path.parent),
        host=path.stem,
        port=None,
        fixture_module=None,
        intercept=lambda: application,
        handlers=[handler() for handler in handlers.RESPONSE_HANDLERS],
    )


@pytest.mark.parametrize("path", stories(), ids=lambda path: path.stem)
def test_the_interface_is_as_told(path, application):
    result = unittest.TestResult()
    suite(path, application).run(result)
    assert result.testsRun
    failed = result.failures + result.errors
    assert not failed, "\n".join(f"{name_of(case)}: {said(text)}" for case, text in failed)


def name_of(case):
    return type(case).__name__


def said(traceback):
    return traceback.partition("AssertionError: ")[2] or traceback
