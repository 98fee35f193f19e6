"""The directives of these pages.

``.. options:: placement`` lists the options of ``[placement]``; with ``:namespace: oslo.policy``
those of another library. ``.. rules::`` lists the policy rules, ``.. modules:: placement.core``
the modules of a package.

``.. world::`` and ``.. candidates::`` are worked examples, which the tests run:

    .. world:: shared disk

       cn1  VCPU=8
       ss1  DISK_GB=1000

    .. candidates:: resources=VCPU:1,DISK_GB:10

       cn1: VCPU=1 + ss1: DISK_GB=10

The query may go on over several lines; in it, names of providers and aggregates stand in braces.
No candidates at all are written ``none``. The query is one at the newest microversion, or at
``:version: 1.28``.
"""

from collections.abc import Iterable
from typing import ClassVar

import reference
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class _Asked(SphinxDirective):
    """A directive that says what the code says."""

    def parsed(self, lines: Iterable[str]) -> list[nodes.Node]:
        """Return what the lines mean."""
        return self.parse_text_to_nodes(StringList(list(lines), source="doc/source/_ext"))


class Options(_Asked):
    """The options of the group that the argument names."""

    required_arguments = 1
    option_spec: ClassVar = {"namespace": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return an entry for each."""
        namespace = self.options.get("namespace", reference.OURS)
        return self.parsed(reference.option_lines(namespace, self.arguments[0]))


class Rules(_Asked):
    """All policy rules."""

    def run(self) -> list[nodes.Node]:
        """Return a definition for each."""
        return self.parsed(reference.rule_lines())


class Modules(_Asked):
    """The modules of the package that the argument names."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a definition for each."""
        return self.parsed(reference.module_lines(self.arguments[0]))


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
    for name, directive in _DIRECTIVES.items():
        app.add_directive(name, directive)
    return {"parallel_read_safe": True}


_DIRECTIVES = {
    "options": Options,
    "rules": Rules,
    "modules": Modules,
    "world": World,
    "candidates": Candidates,
}
