"""The capacity of groups of roots, and for flavors, as commands show it."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from osc_lib.exceptions import BadRequest

from placement.cli.client import get
from placement.cli.names import CommandNames
from placement.core.text import printable

_OF_FLAVOR = ("claims", "at_most", "exact", "complete", "roots", "limited_by")
_NAMES = ("name", "root", "aggregate", "root_trait")
"""The properties that identify a group of roots; the first one that it has is shown."""

Capacity = Mapping[str, Any]


def of_groups(groups: Sequence[Mapping[str, Any]]) -> str:
    """Return the capacity of each group of roots, in lines with aligned columns."""
    rows = [(_name(group), str(group["claims"]), str(group["roots"])) for group in groups]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        f"{name:<{widths[0]}} {claims:>{widths[1]}}{'' if group['exact'] else ' or more'} on "
        f"{roots:>{widths[2]}} {'root' if roots == '1' else 'roots'}"
        for group, (name, claims, roots) in zip(groups, rows, strict=True)
    )


def _name(group: Mapping[str, Any]) -> str:
    name = next(str(group[name]) for name in _NAMES if name in group)
    return f"{printable(name)}:"


def with_names(groups: Sequence[Capacity], names: CommandNames) -> Sequence[Capacity]:
    """Return groups of roots with the names of their aggregates, if nova lists them."""
    return [_with_name(group, names) for group in groups]


def _with_name(group: Capacity, names: CommandNames) -> Capacity:
    name = names.aggregates.get(group["aggregate"]) if "aggregate" in group else None
    return {**group, "name": name} if name else group


def of_request(
    app: Any, names: CommandNames, request: Sequence[tuple[str, str]], by: str
) -> Capacity:
    """Return the part of a capacity to show for a flavor, or the error of an invalid request."""
    query = urlencode(request, safe=":,!")
    try:
        document = get(app, f"/insight/capacity?{urlencode([*request, ('by', by)])}")
    except BadRequest as error:
        return {"query": query, "error": error.message}
    capacity = {name: document[name] for name in _OF_FLAVOR}
    return {**capacity, "by": with_names(document["by"], names), "query": query}


def line(capacity: Capacity) -> str:
    """Return the capacity for a flavor: how often, on how many roots, and what limits it.

    >>> line({"claims": 3, "exact": True, "roots": 1, "limited_by": {"VCPU": 4}, "by": []})
    '3 on 1 root; limited by VCPU on 4'
    """
    if "error" in capacity:
        return printable(capacity["error"])
    limits = sorted(capacity["limited_by"].items(), key=lambda limit: (-limit[1], limit[0]))
    limited_by = ", ".join(f"{name} on {roots}" for name, roots in limits if roots)
    more = "" if capacity["exact"] else " or more"
    text = f"{capacity['claims']}{more} on {_roots(capacity['roots'])}"
    text += f"; limited by {limited_by}" if limited_by else ""
    return "\n".join([text, of_groups(capacity["by"])] if capacity["by"] else [text])


def _roots(number: int) -> str:
    return f"{number} {'root' if number == 1 else 'roots'}"
