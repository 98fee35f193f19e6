"""The commands in the console blocks of the documentation, and which of them the tests run."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from placement.tests.support import docs

# Literal blocks, of which those that begin with a prompt are sessions of a shell.
BLOCK = re.compile(
    r"^( *)(?:\.\. code-block:: console|(?!\.\. ).*::)\n\n((?:\1  .*\n|\n)+)", re.MULTILINE
)
HEADING = re.compile(r"^(\S[^\n]*)\n(=+|-+)\n", re.MULTILINE)
PROMPTS = ("$ ", "# ")


class Command(NamedTuple):
    """A command after a prompt, with its continuation lines."""

    page: str
    heading: str
    text: str


def page_names() -> list[str]:
    """Return the names of all pages, as ``:doc:`` has them, and ``README``."""
    pages = sorted(docs.SOURCE.rglob("*.rst"))
    return ["README", *(str(page.relative_to(docs.SOURCE).with_suffix("")) for page in pages)]


def path_of(name: str) -> Path:
    """Return the path of a page."""
    return docs.ROOT / "README.rst" if name == "README" else docs.SOURCE / f"{name}.rst"


def commands(name: str) -> Iterator[Command]:
    """Yield the commands of a page, each with the heading above it."""
    text = path_of(name).read_text()
    headings = [(each.start(), each[1]) for each in HEADING.finditer(text)]
    for block in BLOCK.finditer(text):
        if not block[2].strip().startswith(PROMPTS):
            continue
        above = [title for start, title in headings if start < block.start()]
        for command in texts(block[2]):
            yield Command(name, above[-1], command)


def texts(block: str) -> list[str]:
    """Return what follows each prompt of a block, up to its output or the next prompt."""
    parsed: list[str] = []
    for line in (line.strip() for line in block.replace("\\\n", "\\\n> ").splitlines()):
        if line.startswith(PROMPTS):
            parsed.append(line[2:])
        elif line.startswith(">") and parsed:
            continued = line.lstrip("> ")
            is_joined = parsed[-1].endswith("\\")
            parsed[-1] = parsed[-1].removesuffix("\\") + ("" if is_joined else "\n") + continued
    return parsed


_executed: set[Command] = set()


def executed(name: str, *headings: str, matching: str = "") -> list[str]:
    """Return the commands below these headings, or of the page; the calling module runs them.

    With a regular expression, only those whose beginning it matches.

    Call it when the module is imported: ``test_all_commands`` compares the commands that it has
    returned with all commands.
    """
    selected = [
        command
        for command in commands(name)
        if (not headings or command.heading in headings) and re.match(matching, command.text)
    ]
    assert selected, f"{name} has no commands below {headings}"
    _executed.update(selected)
    return [command.text for command in selected]


def executed_commands() -> set[Command]:
    """Return the commands that :func:`executed` has returned so far."""
    return set(_executed)
