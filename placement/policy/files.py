"""Errors in policy files, as sentences with file and line.

oslo.policy reports YAML errors without the name of the file, and turns a check that it cannot read
into one that refuses everyone, with a traceback in the log.
"""

import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from oslo_policy import policy as oslo_policy

from placement.policy import requirements


def problems(paths: Iterable[str], known_rules: Iterable[str]) -> Iterator[str]:
    """Yield the problems of policy files; directories among the paths are skipped.

    ``known_rules`` are the rules of the service; a file may define other rules and refer to them.
    """
    files = [path for path in paths if not os.path.isdir(path) and _is_read(path)]
    contents: dict[str, Mapping[str, Any]] = {}
    for path in files:
        try:
            contents[path] = _parsed(path)
        except (ValueError, OSError) as error:
            yield f"{path} {error}"
    rule_names = {*known_rules, *(name for rules in contents.values() for name in rules)}
    for path, rules in contents.items():
        for name, check in rules.items():
            for problem in _problems_of(check, rule_names):
                yield f"{path}, line {_line_of(path, name)}: the check of {name} {problem}"


def unknown_rules(paths: Iterable[str], known_rules: Iterable[str]) -> Iterator[str]:
    """Yield the rules in policy files that have no effect: no operation and no rule uses them.

    Files that cannot be read are skipped: ``problems`` reports them.
    """
    used = set(known_rules)
    defined: list[tuple[str, str]] = []
    for path in paths:
        if os.path.isdir(path) or not _is_read(path):
            continue
        with suppress(ValueError, OSError):
            for name, check in _parsed(path).items():
                defined.append((path, name))
                used.update(requirements.references(_tree(check)))
    for path, name in defined:
        if name not in used:
            yield f"{path}, line {_line_of(path, name)}: {name} is no rule of the service"


def _is_read(path: str) -> bool:
    """Whether oslo.policy reads the file: it skips hidden files."""
    return not os.path.basename(path).startswith(".")


def _parsed(path: str) -> Mapping[str, Any]:
    """Return the content of a file.  Raises: ValueError with the problem, OSError."""
    try:
        rules = oslo_policy.parse_file_contents(Path(path).read_bytes())
    except ValueError as error:
        mark = getattr(error.__context__, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        reason = getattr(error.__context__, "problem", None) or str(error).partition("\n")[0]
        raise ValueError(f"is not valid YAML{place}: {reason}") from None
    if not isinstance(rules, Mapping):
        raise ValueError("is not a mapping of rules to checks")  # noqa: TRY004
    return rules


def _problems_of(check: Any, rule_names: set[str]) -> Iterator[str]:
    if not isinstance(check, (str, list)):
        yield f"is {check!r}, which is not text. Write it in quotes"
        return
    tree = _tree(check)
    if tree is None or _refusals(tree) > str(check).replace("(", " ").split().count("!"):
        yield f"cannot be read, and refuses everyone: {check}"
        return
    for name in requirements.references(tree):
        if name not in rule_names:
            yield f"refers to the rule {name}, which does not exist"


def _tree(check: Any) -> Any:
    """Return the check as oslo.policy reads it, without its log messages; None if it cannot."""
    logger = logging.getLogger("oslo_policy")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        return oslo_policy.Rules.from_dict({"check": check})["check"]
    except Exception:
        return None
    finally:
        logger.setLevel(level)


def _refusals(tree: Any) -> int:
    return sum(str(node) == "!" for node in requirements.nodes(tree))


def _line_of(path: str, rule: str) -> int:
    """Return the number of the line that defines a rule, 1 if it is not found."""
    definition = re.compile(rf"\s*[\"'{{]*{re.escape(rule)}[\"']?\s*:(?:\s|$)")
    lines = Path(path).read_text(errors="replace").splitlines()
    return next((number for number, line in enumerate(lines, 1) if definition.match(line)), 1)
