"""The worked example of the contributor's guide returns what the page shows."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[4] / "doc" / "source" / "contributor" / "worked-example.rst"


def test_the_steps_of_the_search_return_what_the_page_shows():
    failures, steps = doctest.testfile(str(PAGE), module_relative=False)
    assert steps > 20
    assert not failures
