"""The statements that read the consumers of drained providers, or of all."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import sqlalchemy as sa

from placement.core.search.candidate_streams import batches
from placement.core.snapshot.rows import Mask
from placement.db.store import Store
from placement.db.tables import allocations, consumer_types, consumers, projects
from placement.db.transaction import Transaction
from placement.engine.engine import View
from placement.engine.shared import ShortRequests
from placement_insight.hosts import MIGRATION
from placement_insight.plan.model import ANY_WAY, Holder, States
from placement_insight.plan.survival import Group

MOST_CONSUMERS: Final = 20_000
_MYSQL: Final = {"mysql", "mariadb"}

_allocation = allocations.c
_IS_USED = _allocation.used > 0  # a broken database may have others, which need nothing


def count(store: Store, view: View, drained: Mask) -> int:
    """Return the number of consumers with allocations on the drained rows."""
    ids = _literals(view.snapshot.forest.ids[drained].tolist())
    statement = sa.select(sa.func.count(_allocation.consumer_id.distinct())).where(
        _allocation.resource_provider_id.in_(ids)
    )
    return store.read_once(lambda tx: tx.connection.execute(statement).scalar_one())


def holders(
    store: Store, view: View, drained: Mask, short: ShortRequests, states: States
) -> Sequence[Holder]:
    """Return the consumers with allocations on the drained rows, with all their allocations.

    Cost: one statement, and a few microseconds for each allocation.
    """
    forest = view.snapshot.forest
    on_drained = sa.select(_allocation.consumer_id).where(
        _allocation.resource_provider_id.in_(_literals(forest.ids[drained].tolist()))
    )
    statement = (
        sa.select(
            _allocation.consumer_id,
            _allocation.resource_provider_id,
            _allocation.resource_class_id,
            _allocation.used,
            consumer_types.c.name,
            projects.c.external_id,
            consumers.c.created_at,
        )
        .select_from(
            allocations.outerjoin(consumers, consumers.c.uuid == _allocation.consumer_id)
            .outerjoin(consumer_types, consumer_types.c.id == consumers.c.consumer_type_id)
            .outerjoin(projects, projects.c.id == consumers.c.project_id)
        )
        .where(_IS_USED, _allocation.consumer_id.in_(on_drained))
    )
    row_of = dict(zip(forest.ids.tolist(), range(forest.size), strict=True))
    allocated: defaultdict[str, Counter[tuple[str, int]]] = defaultdict(Counter)
    about, changed = {}, set()
    for uuid, provider, class_id, used, *others in short.paced(
        store.read_once(_read, statement, short)
    ):
        about[uuid] = others
        row, name = row_of.get(provider), view.names.classes.get(class_id)
        if row is None or name is None:
            changed.add(uuid)
        else:
            allocated[uuid][name, row] += used
    return [
        Holder(
            uuid,
            MIGRATION if uuid in states.migrations else type_,
            project,
            allocated[uuid],
            uuid in changed,
            created_at,
            states.ways.get(uuid, ANY_WAY),
        )
        for uuid, (type_, project, created_at) in about.items()
    ]


def roots(store: Store, view: View, consumers: Iterable[str]) -> Mapping[str, int]:
    """Return the root of each of these consumers that has allocations in a tree."""
    forest, sharing = view.snapshot.forest, view.snapshot.sharing.mask(view.snapshot.size)
    row_of = dict(zip(forest.ids.tolist(), range(forest.size), strict=True))
    found = store.read_once(_providers, list(consumers))
    rows = ((uuid, row_of.get(provider)) for uuid, provider in found)
    return {
        uuid: forest.root.item(row) for uuid, row in rows if row is not None and not sharing[row]
    }


def groups(
    store: Store, view: View, short: ShortRequests, migrations: Collection[str]
) -> Iterator[Group]:
    """Return all consumers with their allocations, equal allocations once; without migrations.

    The database groups them: consumers of a host have few different allocations. Groups with a
    provider or a class that the snapshot does not have are left out.
    """
    without = {*migrations, *store.read_once(_migrations)}
    return _grouped(view, store.read_once(_groups, without, short))


def _grouped(view: View, rows: Iterable[tuple[str, int]]) -> Iterator[Group]:
    forest, names = view.snapshot.forest, view.names.classes
    row_of = dict(zip(forest.ids.tolist(), range(forest.size), strict=True))
    for text, count in rows:
        allocations = Counter[tuple[str, int]]()
        with suppress(KeyError):
            for part in text.split(",")[:-1]:
                provider, class_id, used = map(int, part.split(":"))
                allocations[names[class_id], row_of[provider]] += used
            yield Group(allocations, count)


def _providers(tx: Transaction, uuids: Sequence[str]) -> Sequence[tuple[str, int]]:
    statement = sa.select(_allocation.consumer_id, _allocation.resource_provider_id)
    return [
        row
        for some in batches(uuids, 1000)
        for row in tx.connection.execute(statement.where(_allocation.consumer_id.in_(some)))
    ]


def _migrations(tx: Transaction) -> Sequence[str]:
    statement = (
        sa.select(consumers.c.uuid)
        .join(consumer_types, consumer_types.c.id == consumers.c.consumer_type_id)
        .where(consumer_types.c.name == MIGRATION)
    )
    return tx.connection.execute(statement).scalars().all()


def _groups(
    tx: Transaction, without: Collection[str], short: ShortRequests
) -> Sequence[tuple[str, int]]:
    """Return the joined allocations of each consumer, and how many consumers have them."""
    numbers = (_allocation.resource_provider_id, _allocation.resource_class_id, _allocation.used)
    provider, class_id, used = (sa.cast(number, sa.Text) for number in numbers)
    text = provider + ":" + class_id + ":" + used + ","
    is_mysql = tx.connection.dialect.name in _MYSQL
    if is_mysql:  # equal allocations have equal texts, although rows are read in any order
        text = text.op("ORDER BY")(_allocation.resource_class_id)
    of_consumer = (
        sa.select(sa.func.aggregate_strings(text, "").label("allocated"))
        .where(_IS_USED, _allocation.consumer_id.not_in(_literals(without)))
        .group_by(_allocation.consumer_id)
    )
    # sorting all rows takes half the time of reading each through the index of the consumers
    hints = ("SQL_BIG_RESULT",) if is_mysql else ()
    allocated = of_consumer.prefix_with(*hints).subquery().c.allocated
    grouped = sa.select(allocated, sa.func.count()).group_by(allocated).prefix_with(*hints)
    return _read(tx, grouped, short)


def _read(tx: Transaction, statement: sa.Select[Any], short: ShortRequests) -> Sequence[Any]:
    """Return all rows; drivers of MariaDB decode them in parts, as they are slow."""
    options = {"yield_per": 64} if tx.connection.dialect.name in _MYSQL else {}
    return list(short.paced(tx.connection.execute(statement, execution_options=options)))


def _literals(values: Iterable[int | str]) -> sa.BindParameter[list[int | str]]:
    """Return values for IN, as many as there are."""
    return sa.bindparam(None, list(values), expanding=True, literal_execute=True)
