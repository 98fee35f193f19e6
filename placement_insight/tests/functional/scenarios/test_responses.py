"""The scenarios of the operator surface on MariaDB and PostgreSQL; ``test_openapi`` has SQLite."""

import unittest

import pytest

from placement.tests.support.scenarios import failures, scenarios, suite
from placement_insight.tests.functional.scenarios import GABBITS


@pytest.mark.parametrize("path", scenarios(GABBITS), ids=lambda path: path.stem)
@pytest.mark.parametrize("backend", ["mariadb", "postgresql"], indirect=True)
def test_scenario(path, application):
    result = unittest.TestResult()
    suite(path, application).run(result)
    assert result.testsRun
    assert not failures(result)
