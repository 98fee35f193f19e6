"""``.. world::`` and ``.. candidates::``: worked examples, which the tests run.

    .. world:: shared disk

       cn1  VCPU=8
       ss1  DISK_GB=1000

    .. candidates:: resources=VCPU:1,DISK_GB:10

       cn1: VCPU=1 + ss1: DISK_GB=10

The query may go on over several lines; in it, names of providers and aggregates stand in braces.
No candidates at all are written ``none``. The query is one at the newest microversion, or at
``:version: 1.28``.
"""

from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class World(SphinxDirective):
    """A picture of providers, shown as it is written."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the picture."""
        return [_literal("\n".join(self.content))]


class Candidates(SphinxDirective):
    """A query to the last world, and the candidates that it is answered."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = {"version": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return the request line, and the candidates as a numbered list."""
        query = "\n    ".join(f"{'&' if n else '?'}{part}" for n, part in enumerate(parts(self)))
        request = _literal(f"GET /allocation_candidates\n    {query}")
        if list(self.content) == ["none"]:
            return [request, nodes.paragraph(text="There is no candidate.")]
        listed = nodes.enumerated_list(enumtype="arabic")
        for line in self.content:
            listed += nodes.list_item("", nodes.paragraph("", "", nodes.literal(text=line)))
        return [request, listed]


def parts(directive: Candidates) -> list[str]:
    """Return the parameters of the query."""
    return "".join(directive.arguments[0].split()).split("&")


def _literal(text: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language="text")


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directives."""
    app.add_directive("world", World)
    app.add_directive("candidates", Candidates)
    return {"parallel_read_safe": True}
