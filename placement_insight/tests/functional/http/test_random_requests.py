"""Requests made up from the description: their answers are in it, and none is our fault.

By default that takes six seconds; PLACEMENT_RANDOM_REQUESTS sets the number of requests for
each microversion and kind, and then every microversion is asked.
"""

import os

import pytest

from placement import microversion
from placement.microversion import MAX_VERSION

ASKED = os.environ.get("PLACEMENT_RANDOM_REQUESTS")
NUMBER = int(ASKED or 25)
VERSIONS = (
    [str(version) for version in microversion.VERSIONS]
    if ASKED
    else ["1.0", "1.6", "1.11", "1.27", str(MAX_VERSION)]
)


@pytest.fixture(scope="module")
def backend():
    """One database is enough: other tests send invalid input to the others."""
    return "sqlite"


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.xdist_group("random requests")
@pytest.mark.parametrize("mode", ["positive", "negative"])
@pytest.mark.parametrize("version", VERSIONS)
def test_each_response_conforms_to_the_openapi_description(version, mode, application):
    # to import schemathesis takes two seconds, which one process needs
    from placement_insight.tests.functional.http import random_requests  # noqa: PLC0415

    random_requests.send(version, mode, NUMBER, application)
