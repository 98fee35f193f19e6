"""Routing: from a path to its handlers."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from placement import exception
from placement.http.request import HandlerFunction

Methods = Mapping[str, HandlerFunction]


class Route(NamedTuple):
    """The match of a path: its handlers by method and the parameters in the path.

    ``template`` is the declared path.
    """

    methods: Methods
    parameters: dict[str, str]
    template: str


class Routes:
    """The declared paths: ``/traits/{name}`` has one parameter, a segment that is not empty.

    If several match, the one declared first applies.
    """

    def __init__(self, declarations: Mapping[str, Methods]) -> None:
        self._routes = [
            (re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", path)), methods, path)
            for path, methods in declarations.items()
        ]

    def find(self, path: str) -> Route:
        """Return the match of a decoded path.  Raises: RouteNotFound."""
        for pattern, methods, template in self._routes:
            if match := pattern.fullmatch(path):
                return Route(methods, match.groupdict(), template)
        raise exception.RouteNotFound
