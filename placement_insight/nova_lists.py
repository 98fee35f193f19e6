"""Lists of nova's API, page by page, through openstacksdk."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from openstack import exceptions
from openstack.proxy import Proxy

from placement_insight.documents import Response

PAGE: Final = 1000
OFFSET: Final = "offset"
CELL_DOWN: Final = "UNKNOWN"
"""The status of servers and services in a cell whose database is down."""


class InvalidPage(ValueError):  # noqa: N818
    """Nova returned a page that is not what its API defines."""


class NovaList(NamedTuple):
    """A list of nova's API: its path, its key in the document, and the name of the marker."""

    path: str
    key: str
    marker: str
    version: str


MIGRATIONS: Final = NovaList("/os-migrations", "migrations", "uuid", "2.59")


def rows_of(compute: Proxy, listed: NovaList, query: Mapping[str, str]) -> Iterator[Response]:
    """Yield the rows of all pages.  Raises: InvalidPage for an invalid page."""
    return chain.from_iterable(pages(listed, lambda at: _page(compute, listed, {**query, **at})))


def pages(
    listed: NovaList, read: Callable[[Mapping[str, str]], Sequence[Response]]
) -> Iterator[Sequence[Response]]:
    """Yield the pages that ``read`` returns for the parameters ``limit`` and ``marker``.

    If the marker of the list is ``OFFSET``, the second is ``offset``.  Raises: InvalidPage.
    """
    count, position = 0, dict[str, str]()
    # Nova can have a limit below the requested one: only an empty page is the last one.
    while page := read({"limit": str(PAGE), **position}):
        yield page
        count += len(page)
        last = str(count) if listed.marker == OFFSET else page[-1].get(listed.marker)
        if last in position.values() or not isinstance(last, str):
            raise InvalidPage(
                f"nova returned a page of {listed.path} that ends with {last!r}, which cannot be "
                "the marker of the next page. Try again: a new server can be listed twice."
            )
        position = {OFFSET if listed.marker == OFFSET else "marker": last}


def _page(compute: Proxy, listed: NovaList, query: Mapping[str, str]) -> list[Response]:
    response = compute.get(
        listed.path,
        params=query,
        microversion=listed.version,
        skip_cache=True,
    )
    exceptions.raise_from_response(response)
    try:
        page = response.json()[listed.key]
    except (ValueError, KeyError, TypeError, RecursionError):
        page = None
    if not isinstance(page, list) or not all(isinstance(row, dict) for row in page):
        raise InvalidPage(
            f"nova returned a page of {listed.path} that is truncated or not a list of "
            f"{listed.key}: {response.text[-80:]!r}."
        )
    return page
