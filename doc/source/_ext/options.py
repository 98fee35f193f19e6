"""``.. options:: placement``: the options of a group, as the code registers them.

    .. options:: placement

lists our own options of ``[placement]``. ``.. options:: keystone_authtoken`` with
``:namespace: keystonemiddleware.auth_token`` lists another library's.
"""

import re
from collections.abc import Iterator, Sequence
from importlib.metadata import entry_points
from inspect import cleandoc
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from oslo_config import cfg
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

OURS = "placement.conf"


class Options(SphinxDirective):
    """The options of the group that the argument names."""

    required_arguments = 1
    option_spec: ClassVar = {"namespace": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return the options as ``confval`` entries, for others to link to."""
        namespace = self.options.get("namespace", OURS)
        lines = list(rendered(namespace, self.arguments[0]))
        return self.parse_text_to_nodes(StringList(lines, source=namespace))


def rendered(namespace: str, group: str) -> Iterator[str]:
    """Yield the lines of a group's options, in reStructuredText."""
    options = of_group(namespace, group)
    if not options:
        raise ValueError(f"{namespace} has no options in [{group}]")
    for option in options:
        yield from _entry(option, group, is_ours=namespace == OURS)


def of_group(namespace: str, group: str) -> Sequence[cfg.Opt]:
    """Return the options of a group that are not deprecated, by name."""
    (listing,) = entry_points(group="oslo.config.opts", name=namespace)
    found = {}
    for owner, options in listing.load()():
        if (getattr(owner, "name", owner) or "DEFAULT") == group:
            found |= {option.dest: option for option in options}
    return [found[name] for name in sorted(found) if not found[name].deprecated_for_removal]


def _entry(option: cfg.Opt, group: str, *, is_ours: bool) -> Iterator[str]:
    yield f".. confval:: [{group}]{option.dest}"
    yield f"   :type: {_kind(option)}"
    yield f"   :default: {_default(option)}"
    yield ""
    for line in _help(option, is_ours=is_ours):
        yield f"   {line}".rstrip()
    yield ""


def _help(option: cfg.Opt, *, is_ours: bool) -> Iterator[str]:
    text = cleandoc(option.help or "")
    yield from text.splitlines() if is_ours else _plain(text)
    if option.deprecated_opts:
        old = ", ".join(
            f"``[{o.group or 'DEFAULT'}]{o.name or option.dest}``" for o in option.deprecated_opts
        )
        yield from ("", f"Also read from {old}.")
    for value, meaning in (getattr(option.type, "choices", None) or {}).items():
        if meaning:
            yield from ("", f"``{value}``", f"   {meaning}")


def _plain(text: str) -> Iterator[str]:
    """Yield the text of others as it stands: it was not written for Sphinx."""
    for line in text.splitlines():
        yield "| " + re.sub(r"([\\`*_|<>])", r"\\\1", line.strip())


def _kind(option: cfg.Opt) -> str:
    kind = f"{option.type}".split("(", 1)[0].lower()
    low, high = getattr(option.type, "min", None), getattr(option.type, "max", None)
    if low is not None:
        kind += f", from {low}"
    if high is not None:
        kind += f" up to {high}"
    if option.required:
        kind += "; must be set"
    return kind


def _default(option: cfg.Opt) -> str:
    default = option.sample_default if option.sample_default is not None else option.default
    return "none" if default in (None, "", []) else f"``{_text(default).strip()}``"


def _text(default: object) -> str:
    if isinstance(default, list):
        return ",".join(map(str, default))
    return str(default).lower() if isinstance(default, bool) else str(default)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("options", Options)
    return {"parallel_read_safe": True}
