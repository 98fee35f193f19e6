"""The directives of these pages.

``.. options:: placement`` lists the options of ``[placement]``; with ``:namespace: oslo.policy``
those of another library. ``.. rules::`` lists the policy rules, ``.. modules:: placement.core``
the modules of a package, ``.. imports::`` the import rules.
``.. measurements::`` lists rows of the benchmark, ``.. sample-configuration::`` and
``.. sample-policy::`` show the generated files.

``.. world::`` and ``.. candidates::`` are examples that the tests run:

    .. world:: shared disk

       cn1  VCPU=8
       ss1  DISK_GB=1000

    .. candidates:: resources=VCPU:1,DISK_GB:10

       cn1: VCPU=1 + ss1: DISK_GB=10

The query can span several lines. Names of providers and aggregates in it are in braces. An empty
result is written ``none``. The query uses the latest microversion, or that of ``:version: 1.28``.
"""

from collections.abc import Iterable
from typing import ClassVar

import reference
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class _Generated(SphinxDirective):
    """A directive whose content is generated from the code."""

    def parsed(self, lines: Iterable[str]) -> list[nodes.Node]:
        """Return the nodes of lines of reStructuredText."""
        return self.parse_text_to_nodes(StringList(list(lines), source="doc/source/_ext"))


class Options(_Generated):
    """The options of a group."""

    required_arguments = 1
    option_spec: ClassVar = {"namespace": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return an entry for each option."""
        namespace = self.options.get("namespace", reference.PLACEMENT)
        return self.parsed(reference.option_lines(namespace, self.arguments[0]))


class Rules(_Generated):
    """All policy rules."""

    def run(self) -> list[nodes.Node]:
        """Return a definition for each rule."""
        return self.parsed(reference.rule_lines())


class Modules(_Generated):
    """The modules of a package."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a definition for each module."""
        return self.parsed(reference.module_lines(self.arguments[0]))


class Imports(_Generated):
    """The import rules of the architecture test."""

    def run(self) -> list[nodes.Node]:
        """Return a table with a row for each rule."""
        return self.parsed(reference.import_lines())


class Measurements(_Generated):
    """Rows of the benchmark results, named line by line in the content."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a table of the rows."""
        return self.parsed(reference.measurement_lines(list(self.content)))


class SampleConfiguration(SphinxDirective):
    """The sample configuration file."""

    def run(self) -> list[nodes.Node]:
        """Return the text of the file."""
        return [_literal(reference.sample_configuration())]


class SamplePolicy(SphinxDirective):
    """The sample policy file."""

    def run(self) -> list[nodes.Node]:
        """Return the text of the file."""
        return [_literal(reference.sample_policy())]


class World(SphinxDirective):
    """A text diagram of providers, displayed literally."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the diagram."""
        return [_literal("\n".join(self.content))]


class Candidates(SphinxDirective):
    """A query to the preceding world, and the candidates that it returns."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = {"version": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return the request, and the candidates as a numbered list."""
        query = "\n    ".join(f"{'&' if n else '?'}{part}" for n, part in enumerate(parts(self)))
        request = _literal(f"GET /allocation_candidates\n    {query}")
        if list(self.content) == ["none"]:
            return [request, nodes.paragraph(text="No candidates.")]
        candidates = nodes.enumerated_list(enumtype="arabic")
        for line in self.content:
            candidates += nodes.list_item("", nodes.paragraph("", "", nodes.literal(text=line)))
        return [request, candidates]


def parts(directive: Candidates) -> list[str]:
    """Return the query parameters, in order."""
    return "".join(directive.arguments[0].split()).split("&")


def _literal(text: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language="text")


def mark_text_tables(_app: Sphinx, doctree: nodes.document) -> None:
    """Give blocks with a table, as commands print it, the class of ``pages.css``."""
    for block in doctree.findall(nodes.literal_block):
        if "+--" in block.astext():
            block["classes"].append("text-table")


def unlink(app: Sphinx, doctree: nodes.document, _page: str) -> None:
    """Leave the text of links between pages in manual pages, which have no addresses for them."""
    if app.builder.name == "man":
        for link in list(doctree.findall(nodes.reference)):
            if link.get("internal"):
                link.replace_self(link.children)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives, and what changes the trees of pages."""
    for name, directive in _DIRECTIVES.items():
        app.add_directive(name, directive)
    app.connect("doctree-read", mark_text_tables)
    app.connect("doctree-resolved", unlink)
    return {"parallel_read_safe": True}


_DIRECTIVES = {
    "options": Options,
    "rules": Rules,
    "modules": Modules,
    "imports": Imports,
    "measurements": Measurements,
    "sample-configuration": SampleConfiguration,
    "sample-policy": SamplePolicy,
    "world": World,
    "candidates": Candidates,
}
