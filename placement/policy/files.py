"""Policy files, each read once, and whether their entries can be read.

oslo.policy reads null, and other empty values, as a check that allows everyone. It reads a check
that it does not understand, or a part of one, as a check that denies everyone.
"""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from oslo_policy import policy as oslo_policy

from placement.policy import requirements

_URL = re.compile(r"(https?:).*", re.DOTALL)
_OPERATORS = {"and", "or", "not"}
_ADVICE = 'Write "!" in quotes to deny everyone, "@" to allow everyone.'


class Entry(NamedTuple):
    """An entry of a policy file: the check of a rule, as YAML reads it.

    ``is_quoted`` is whether it is written in quotes: without them, nothing is an empty text, too.
    """

    place: str
    name: str
    value: Any
    is_quoted: bool = False

    def __str__(self) -> str:
        return f"{self.place}: the check of {self.name}"

    @property
    def rule(self) -> oslo_policy.RuleDefault:
        """The rule, whose check oslo.policy parses without its messages in the log."""
        logger = logging.getLogger("oslo_policy")
        level = logger.level
        logger.setLevel(logging.CRITICAL + 1)
        try:
            return oslo_policy.RuleDefault(self.name, self.value)
        finally:
            logger.setLevel(level)

    @property
    def problem(self) -> str:
        """A sentence that says why the check cannot be read; empty if it can."""
        if self.value == "" and self.is_quoted:
            return ""
        texts = _texts(self.value)
        if texts is None:
            return f"{self} is {shown(self.value)}, which is no check. {_ADVICE}"
        try:
            leaves = list(map(str, requirements.leaves(self.rule.check)))
        except RecursionError:
            return f"{self} is nested too deeply."
        if leaves != [text for text in texts if text.lower() not in _OPERATORS]:
            return f"{self} cannot be read: {shown(self.value)}. Correct it. {_ADVICE}"
        return ""


class PolicyFile(NamedTuple):
    """The entries of a file, and sentences: about replaced entries, and about problems."""

    entries: Sequence[Entry] = ()
    replaced: Sequence[str] = ()
    problems: Sequence[str] = ()


def _texts(value: Any) -> Sequence[str] | None:
    """Return the operators and operands of a check; None if it is no check.

    A list of lists is the former syntax: one of the outer elements allows, all inner ones do.
    """
    match value:
        case str():
            texts = [word.lstrip("(").rstrip(")") for word in value.split()]
            return list(filter(None, texts)) or None
        case [_, *_]:
            inner = [part if isinstance(part, list) else [part] for part in value]
            texts = [text for part in inner for text in part]
            return texts if all(isinstance(text, str) and text for text in texts) else None
    return None


def shown(value: Any) -> str:
    """Return a check, or a part of one, without URLs: they can contain credentials."""
    text = str(value) if isinstance(value, oslo_policy.Check) else repr(value)
    return "null" if value is None else _URL.sub(r"\1...", text)


def read(path: str) -> PolicyFile:
    """Return the content of a policy file, or the problem that it cannot be read."""
    try:
        text = Path(path).read_bytes().decode()
        return _file(path, yaml.safe_load(text), yaml.compose(text, Loader=yaml.SafeLoader))
    except OSError as error:
        problem = f"cannot be read: {error.strerror}."
    except (yaml.YAMLError, ValueError) as error:  # ValueError: an impossible date
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        reason = getattr(error, "problem", None) or str(error).partition("\n")[0]
        problem = f"is not valid YAML{place}: {reason}."
    except RecursionError:
        problem = "is nested too deeply."
    return PolicyFile(problems=[f"{path} {problem}"])


def _file(path: str, rules: Any, root: Any) -> PolicyFile:
    if rules is None:
        return PolicyFile()
    if not isinstance(rules, Mapping):
        return PolicyFile(problems=[f"{path} is not a mapping of rules to checks."])
    nodes = {key.value: (key, value) for key, value in root.value}
    entries = []
    for name, value in rules.items():
        key, node = nodes.get(str(name), (root, root))
        is_quoted = getattr(node, "style", None) in {"'", '"'}
        entries.append(Entry(_place(path, key), str(name), value, is_quoted))
    problems = list(filter(None, (entry.problem for entry in entries)))
    return PolicyFile(entries, list(_replaced(path, root, nodes)), problems)


def _replaced(path: str, root: Any, nodes: Mapping[Any, Any]) -> Iterator[str]:
    for key, _ in root.value:
        last, _ = nodes[key.value]
        if last is not key:
            line = last.start_mark.line + 1
            yield f"{_place(path, key)}: {key.value} has no effect, line {line} defines it again"


def _place(path: str, node: Any) -> str:
    return f"{path}, line {node.start_mark.line + 1}"
