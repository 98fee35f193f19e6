"""From a path to who answers it: a tree of path segments."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from placement import exception
from placement.wsgi_wrapper import HandlerFunction

Methods = Mapping[str, HandlerFunction]


class Route(NamedTuple):
    """What a path leads to: a handler by method, and the parameters found in the path.

    ``template`` is the path as it was declared.
    """

    methods: Methods
    parameters: dict[str, str]
    template: str


@dataclass(slots=True)
class _Node:
    """What may follow a beginning of a path; ``parameter`` names a segment that may be any."""

    children: dict[str, "_Node"] = field(default_factory=dict)
    parameter: str = ""
    any_child: "_Node | None" = None
    methods: Methods | None = None
    template: str = ""


class Routes:
    """The declared paths: ``/traits/{name}`` has one parameter, a segment that is not empty.

    A segment that is declared literally wins over a parameter. Two declarations of one path, or
    two names of one parameter, are refused.
    """

    def __init__(self, declarations: Mapping[str, Methods]) -> None:
        self._root = _Node()
        for path, methods in declarations.items():
            self._add(path, methods)

    def find(self, path: str) -> Route:
        """Return where the (decoded) path leads.  Raises: RouteNotFound."""
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
    """Return the node for one more segment of a declared path, made if needed."""
    if not segment.startswith("{"):
        return node.children.setdefault(segment, _Node())
    name = segment.strip("{}")
    if node.any_child is None:
        node.parameter, node.any_child = name, _Node()
    elif node.parameter != name:
        raise ValueError(f"{path} names {node.parameter} differently")
    return node.any_child
