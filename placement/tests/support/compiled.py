"""One cache of compiled SQL statements for all engines of a process.

Each test has engines of its own, and the cache of SQLAlchemy belongs to an engine: without this,
each test compiles its statements again. Processes of services that tests start do not share it.
"""

from collections.abc import Callable, Hashable
from functools import lru_cache, partial
from typing import Any

import sqlalchemy as sa

from placement.db import writes
from placement.db.connections import pools

_MAX_STATEMENTS = 4000


def kind(dialect: sa.Dialect) -> tuple[Hashable, ...]:
    """Return what the text of a statement depends on."""
    names = (
        "paramstyle",
        "server_version_info",
        "is_mariadb",
        "_server_ansiquotes",
        "_backslash_escapes",
    )
    return (type(dialect), *(getattr(dialect, name, None) for name in names))


class SharedStatements:
    """A cache as SQLAlchemy uses it, whose keys have the kind of the dialect in its place."""

    def __init__(self) -> None:
        self._statements: dict[tuple[Any, ...], Any] = {}

    def get(self, key: tuple[Any, ...]) -> Any:
        """Return a compiled statement or None."""
        return self._statements.get(_shared(key))

    def __setitem__(self, key: tuple[Any, ...], compiled: Any) -> None:
        if len(self._statements) >= _MAX_STATEMENTS:
            self._statements.clear()
        self._statements[_shared(key)] = compiled


def _shared(key: tuple[Any, ...]) -> tuple[Any, ...]:
    dialect, *others = key
    return (kind(dialect), *others)


class Alike:
    """A dialect that is equal to all of its kind."""

    def __init__(self, dialect: sa.Dialect) -> None:
        self.dialect = dialect
        self._kind = kind(dialect)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike) and self._kind == other._kind

    def __hash__(self) -> int:
        return hash(self._kind)


def share(set_attribute: Callable[[Any, str, Any], None]) -> None:
    """Share the statements between engines that are created from now on."""
    options = {"compiled_cache": SharedStatements()}
    new_engine = partial(pools.new_engine, execution_options=options)
    set_attribute(pools, "new_engine", new_engine)

    compile_write = writes._compiled.__wrapped__

    @lru_cache(maxsize=_MAX_STATEMENTS)
    def compiled(statement, alike, names):
        return compile_write(statement, alike.dialect, names)

    set_attribute(
        writes,
        "_compiled",
        lambda statement, dialect, names: compiled(statement, Alike(dialect), names),
    )
