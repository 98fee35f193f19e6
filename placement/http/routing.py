"""Routing: from a path to its handlers, by a tree of path segments."""

from collections.abc import Mapping
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class _Node:
    """A node of the tree; ``parameter`` is the name of a segment that matches any text."""

    children: dict[str, "_Node"] = field(default_factory=dict)
    parameter: str = ""
    any_child: "_Node | None" = None
    methods: Methods | None = None
    template: str = ""


class Routes:
    """The declared paths: ``/traits/{name}`` has one parameter, a segment that is not empty.

    A literal segment takes precedence over a parameter. Raises ValueError if a path is declared
    twice, or a parameter has two names.
    """

    def __init__(self, declarations: Mapping[str, Methods]) -> None:
        self._root = _Node()
        for path, methods in declarations.items():
            self._add(path, methods)

    def find(self, path: str) -> Route:
        """Return the match of a decoded path.  Raises: RouteNotFound."""
        node = self._root
        parameters = {}
        for segment in path.split("/"):
            child = node.children.get(segment)
            if child is None:
                child = node.any_child if segment else None
                if child is None:
                    raise exception.RouteNotFound
                parameters[node.parameter] = segment
            node = child
        if node.methods is None:
            raise exception.RouteNotFound
        return Route(node.methods, parameters, node.template)

    def _add(self, path: str, methods: Methods) -> None:
        node = self._root
        for segment in path.split("/"):
            node = _child(node, segment, path)
        if node.methods is not None:
            raise ValueError(f"{path} is declared twice")
        node.methods, node.template = methods, path


def _child(node: _Node, segment: str, path: str) -> _Node:
    """Return the child node for a segment of a declared path, created if necessary."""
    if not segment.startswith("{"):
        return node.children.setdefault(segment, _Node())
    name = segment.strip("{}")
    if node.any_child is None:
        node.parameter, node.any_child = name, _Node()
    elif node.parameter != name:
        raise ValueError(f"{path} names {node.parameter} differently")
    return node.any_child
