"""Options in configuration files that look like misspelled options of the service.

oslo.config accepts every name. An option that does not exist is ignored, so the default applies.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from oslo_config import cfg

from placement.conf import GROUPS

_SIMILARITY = 0.8  # of names, from 0 to 1; options of other releases are less similar


def misspelled(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield a sentence for each group and option in the files of a parsed configuration."""
    for path in _files(conf):
        for group, names in _sections(path).items():
            yield from (f"{sentence} ({path})" for sentence in _in_group(group, names))


def _files(conf: cfg.ConfigOpts) -> list[str]:
    folders = (sorted(Path(folder).glob("*.conf")) for folder in conf.config_dir or ())
    return [*(conf.config_file or ()), *(str(path) for paths in folders for path in paths)]


def _sections(path: str) -> dict[str, dict[str, list[str]]]:
    sections: dict[str, dict[str, list[str]]] = {}
    cfg.ConfigParser(path, sections).parse()
    return sections


def _options() -> dict[str, set[str]]:
    """Return the names of the options by group, also the former names."""
    named: dict[str, set[str]] = {}
    for group, options in GROUPS:
        if group is not None:
            current = {option.dest for option in options}
            former = {old.name for option in options for old in option.deprecated_opts if old.name}
            named.setdefault(group.name, set()).update(current, former)
    return named


def _in_group(group: str, names: dict[str, list[str]]) -> Iterator[str]:
    """Yield the problems of one group.

    >>> list(_in_group("insight", {"recrod": ["false"]}))
    ['[insight]recrod is not an option and has no effect; [insight]record is']
    >>> list(_in_group("insigth", {}))
    ['[insigth] is not a group of options and has no effect; [insight] is']
    """
    options = _options()
    if group not in options:
        for similar in get_close_matches(group, options, 1, _SIMILARITY):
            yield f"[{group}] is not a group of options and has no effect; [{similar}] is"
        return
    for name in sorted({name.replace("-", "_") for name in names} - options[group]):
        for similar in get_close_matches(name, options[group], 1, _SIMILARITY):
            option = f"[{group}]{name} is not an option and has no effect"
            yield f"{option}; [{group}]{similar} is"
