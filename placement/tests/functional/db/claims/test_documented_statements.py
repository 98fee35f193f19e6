"""The page "How a claim works" has the statements that are sent, in their order."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from placement.objects import allocation
from placement.tests.support.factories import a_claim, claim, new_provider, statements, uuid

PAGE = Path(__file__).parents[5] / "doc" / "source" / "contributor" / "claims.rst"
AMOUNTS = {"VCPU": 1, "MEMORY_MB": 512}


def documented() -> list[str]:
    """Return the blocks of SQL on the page."""
    blocks = re.findall(r"\.\. code-block:: sql\n\n((?:    .*\n|\n)+)", PAGE.read_text())
    return [textwrap.dedent(block).strip() for block in blocks]


def sent(store) -> Iterator[str]:
    """Yield the statements of each write on the page, as it shows them."""
    source, target = (new_provider(store, VCPU=8, MEMORY_MB=4096) for _ in range(2))
    for type_ in ("INSTANCE", "MIGRATION"):  # the owners and types exist from here on
        claim(store, uuid(), {source: AMOUNTS}, generation=None, type=type_)
    server, migration = uuid(), uuid()
    moved = (
        a_claim(migration, {source: {"VCPU": 2}}, generation=None, type="MIGRATION"),
        a_claim(server, {target: AMOUNTS}, generation=2, type="INSTANCE"),
    )
    works = (
        lambda: claim(store, server, {source: AMOUNTS}, generation=None, type="INSTANCE"),
        lambda: claim(store, server, {source: {"VCPU": 2}}, generation=1, type="INSTANCE"),
        lambda: allocation.replace(store, moved),
        lambda: allocation.delete(store, server),
    )
    for work in works:
        with statements(store) as executed:
            work()
        yield "\n".join(map(as_shown, executed))


def as_shown(statement: str) -> str:
    """Return a statement on lines of a readable width, with a mark for each parameter."""
    text = " ".join(statement.split()).replace("%s", "?").replace("%%", "%") + ";"
    return textwrap.fill(text, 112, subsequent_indent="  ", break_on_hyphens=False)


def test_page_has_the_statements_in_their_order(store, backend):
    if backend != "mariadb":
        pytest.skip("the page shows those of MySQL and MariaDB")
    assert documented() == list(sent(store))
