"""``.. modules:: placement.core``: the modules of a package, each with what it says it is."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[3]


class Modules(SphinxDirective):
    """The modules right in the package that the argument names, as a list of definitions."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        return self.parse_text_to_nodes(
            StringList(list(rendered(self.arguments[0])), source=self.arguments[0])
        )


def rendered(package: str) -> Iterator[str]:
    """Yield the lines of the list, in reStructuredText."""
    for path in sorted((ROOT / package.replace(".", "/")).glob("*.py")):
        if path.stem != "__init__":
            yield from (f"``{path.stem}``", f"   {first_sentence(path)}", "")


def first_sentence(path: Path) -> str:
    """Return how the module begins to say what it is."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    paragraph = " ".join(text.split("\n\n", 1)[0].split())
    return re.split(r"(?<=\.) ", paragraph)[0]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("modules", Modules)
    return {"parallel_read_safe": True}
