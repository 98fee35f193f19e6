"""The API scenarios in ``gabbits``, on each database."""

import unittest

import pytest

from placement.tests.support.scenarios import scenarios, suite


@pytest.mark.parametrize("path", scenarios(), ids=lambda path: path.stem)
def test_scenario(path, application):
    result = unittest.TestResult()
    suite(path, application).run(result)
    assert result.testsRun
    failed = result.failures + result.errors
    assert not failed, "\n".join(f"{case_name(case)}: {message(text)}" for case, text in failed)


def case_name(case):
    return type(case).__name__


def message(traceback):
    return traceback.partition("AssertionError: ")[2] or traceback
