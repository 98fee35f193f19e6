"""The API scenarios in ``gabbits`` on each database."""

import unittest

import pytest

from placement.tests.support.scenarios import failures, scenarios, suite


@pytest.mark.parametrize("path", scenarios(), ids=lambda path: path.stem)
def test_scenario(path, application):
    result = unittest.TestResult()
    suite(path, application).run(result)
    assert result.testsRun
    assert not failures(result)
