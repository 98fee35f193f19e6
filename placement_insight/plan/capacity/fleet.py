"""Snapshots with hosts that do not exist yet, or without hosts that exist."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid5

import numpy as np

from placement.core.model import Provider, ProviderState
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import BadRequest

MOST_NEW_PROVIDERS = 20_000


@dataclass(frozen=True, slots=True)
class Fleet:
    """Providers that are removed with all below them, and the number of new hosts like a root."""

    without: Sequence[str] = ()
    like: Mapping[str, int] = field(default_factory=dict)

    def applied(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot of these hosts. A new host has no usage.

        Raises: BadRequest for an unknown provider, a provider that is no root, and too many.
        """
        forest = snapshot.forest
        rows = [_row(snapshot, "without", uuid) for uuid in self.without]
        roots = {_root(snapshot, uuid): count for uuid, count in self.like.items()}
        if not (rows or roots):
            return snapshot
        added = sum(count * len(forest.members(root)) for root, count in roots.items())
        if added > MOST_NEW_PROVIDERS:
            raise BadRequest(
                f"like adds {added} providers, with the providers below each host; at most "
                f"{MOST_NEW_PROVIDERS} can be added. Add fewer hosts."
            )
        removed = {forest.ids.item(member) for row in rows for member in forest.members(row)}
        unused = np.setdiff1d(np.arange(1, snapshot.size + added + 1), forest.ids)
        ids = iter(unused.tolist())
        states = [
            replace(state, provider=replace(state.provider, id=next(ids)))
            for root, count in roots.items()
            for number in range(1, count + 1)
            for state in _copies(snapshot, root, number)
        ]
        return snapshot.apply(states, removed)

    def described(self, snapshot: Snapshot) -> Mapping[str, object]:
        """Return the fields of a document: the providers with their names."""

        def named(uuid: str) -> dict[str, object]:
            row = snapshot.forest.row_of[uuid]
            return {"uuid": uuid, "name": snapshot.entries.state(row).provider.name}

        return {
            "without": [named(uuid) for uuid in self.without],
            "like": [{**named(uuid), "hosts": count} for uuid, count in self.like.items()],
        }


def _row(snapshot: Snapshot, parameter: str, uuid: str) -> int:
    row = snapshot.forest.row_of.get(uuid)
    if row is None:
        raise BadRequest(f"{parameter}: there is no resource provider {uuid}.")
    return row


def _root(snapshot: Snapshot, uuid: str) -> int:
    row = _row(snapshot, "like", uuid)
    root = snapshot.forest.root.item(row)
    if root != row:
        name = snapshot.entries.state(root).provider
        raise BadRequest(
            f"like: {uuid} is not a root provider. Name the root of its tree: {name.uuid} "
            f"({name.name})."
        )
    return row


def _copies(snapshot: Snapshot, root: int, number: int) -> Iterator[ProviderState]:
    """Yield the providers of a new host like a root, parents first, with the ids of the tree."""

    def new_uuid(uuid: str | None) -> str | None:
        return uuid and str(uuid5(UUID(uuid), str(number)))

    for row in snapshot.forest.members(root):
        state = snapshot.entries.state(row)
        provider: Provider = replace(
            state.provider,
            uuid=str(new_uuid(state.provider.uuid)),
            name=f"{state.provider.name} (new {number})",
            parent_uuid=new_uuid(state.provider.parent_uuid),
            root_uuid=str(new_uuid(state.provider.root_uuid)),
        )
        yield replace(state, provider=provider, used={})
