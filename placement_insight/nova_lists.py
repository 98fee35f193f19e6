"""Lists of nova's API, page by page, through openstacksdk."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from openstack import exceptions
from openstack.proxy import Proxy

from placement_insight.documents import Response

PAGE: Final = 1000


class InvalidPage(ValueError):  # noqa: N818
    """Nova returned a page that is not what its API defines."""


class NovaList(NamedTuple):
    """A list of nova's API: its path, its key in the document, and the name of the marker."""

    path: str
    key: str
    marker: str
    version: str


def pages(compute: Proxy, listed: NovaList, query: Mapping[str, str]) -> Iterator[Response]:
    """Yield the rows of all pages.  Raises: InvalidPage for an invalid page."""
    marker: str | None = None
    while True:
        rows = _page(compute, listed, {**query, **({"marker": marker} if marker else {})})
        yield from rows
        # Nova can have a limit below the requested one: only an empty page is the last one.
        if not rows:
            return
        last = rows[-1].get(listed.marker)
        if last == marker or not isinstance(last, str):
            raise InvalidPage(
                f"nova returned a page of {listed.path} that ends with {last!r}, which cannot be "
                "the marker of the next page. Try again: a new server can be listed twice."
            )
        marker = last


def _page(compute: Proxy, listed: NovaList, query: Mapping[str, str]) -> list[Response]:
    response = compute.get(
        listed.path,
        params={**query, "limit": str(PAGE)},
        microversion=listed.version,
        skip_cache=True,
    )
    exceptions.raise_from_response(response)
    try:
        rows = response.json()[listed.key]
    except (ValueError, KeyError, TypeError, RecursionError):
        rows = None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidPage(
            f"nova returned a page of {listed.path} that is truncated or not a list of "
            f"{listed.key}: {response.text[-80:]!r}."
        )
    return rows
