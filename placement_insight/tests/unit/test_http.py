"""Entity tags made of the clocks."""

import pytest
import webob

from placement_insight.http import etag, is_current

TAG = etag({0: 1, 1: 2}, "1.39")


def current(header):
    request = webob.Request.blank("/insight")
    if header is not None:
        request.headers["if-none-match"] = header
    return is_current(request, TAG)


@pytest.mark.parametrize(
    "header", [TAG, TAG.removeprefix("W/"), f'"a", {TAG}', f'{TAG},W/"b"', "*", f"  {TAG} "]
)
def test_a_tag_that_is_sent_is_current(header):
    assert current(header)


@pytest.mark.parametrize("header", [None, "", '"a"', TAG[:-2] + '"', TAG.strip('W/"')])
def test_another_tag_is_not(header):
    assert not current(header)


def test_a_tag_changes_with_each_clock_and_with_the_representation():
    tags = {TAG, etag({0: 2, 1: 2}, "1.39"), etag({0: 1, 1: 3}, "1.39"), etag({0: 1, 1: 2}, "1.9")}
    assert len(tags) == 4
    assert len({etag({0: 1}, "a", "b"), etag({0: 1}, "a"), etag({0: 1}, "ab")}) == 3
