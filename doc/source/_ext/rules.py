"""``.. rules::``: the policy rules, as the code declares them."""

from collections.abc import Iterator

from docutils import nodes
from docutils.statemachine import StringList
from oslo_policy import policy
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from placement import policies


class Rules(SphinxDirective):
    """All rules, those of callers first."""

    def run(self) -> list[nodes.Node]:
        """Return a definition for each rule."""
        return self.parse_text_to_nodes(StringList(list(rendered()), source="placement.policies"))


def rendered() -> Iterator[str]:
    """Yield the lines that describe the rules, in reStructuredText."""
    for rule in policies.list_rules():
        yield f"``{rule.name}``"
        for line in _described(rule):
            yield f"   {line}".rstrip()
        yield ""


def _described(rule: policy.RuleDefault) -> Iterator[str]:
    yield from (rule.description, "", f"| Default: ``{rule.check_str}``")
    if rule.scope_types:
        yield f"| Scope: {', '.join(rule.scope_types)}"
    for operation in getattr(rule, "operations", ()):
        yield f"| Asked by: ``{operation['method']} {operation['path']}``"
    if rule.deprecated_rule:
        yield f"| With ``enforce_new_defaults = false`` also: ``{rule.deprecated_rule.check_str}``"


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("rules", Rules)
    return {"parallel_read_safe": True}
