"""Wrong configurations are reported by the commands of the operator surface as well."""

import pytest

from placement.tests.functional.cmd.test_misconfigured import (  # noqa: F401  run is a fixture
    PROBLEMS,
    check_reported,
    configure,
    run,
)


@pytest.mark.parametrize("name", PROBLEMS)
def test_wrong_configuration(run, tmp_path, name):  # noqa: F811
    content, text = PROBLEMS[name]
    configure(tmp_path, content)
    check_reported(run, ("placement-manage", "audit"), text.replace("{folder}", str(tmp_path)))
