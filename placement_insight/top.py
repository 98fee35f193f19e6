"""``GET /insight/top``: hosts by their fullest resource class, and how many have each state."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import webob

from placement import exception
from placement.core import capacity
from placement.core.changes import TraitsChange
from placement.core.model import ProviderState
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import canonical, nouns
from placement.db.store import Store
from placement.http.request import Request, accepts_json
from placement.parse import validation
from placement.schemas.base import NAME, UUID, always, closed
from placement_insight import http, policies, queries
from placement_insight.documents import Json, document
from placement_insight.history.sql import changes_of_kind
from placement_insight.hosts import COMPUTE_NODE, DISABLED, NEEDS_OF_SERVERS, hosts_of

FULL: Final = 0.95
"""A host is full if more than this share of a class is in use."""

STATES: Final = ("full", "empty", "fragmented", "disabled", "reserved", "over_capacity")
_LIMIT: Final = "20"
TOP_QUERY = always(
    closed(
        {
            "class": NAME,
            **dict.fromkeys(STATES, queries.FLAG),
            "aggregate": UUID,
            "rack": NAME,
            "limit": queries.described("a number from 0", "^(0|[1-9][0-9]{0,8})$"),
        }
    )
)
_VALIDATORS = validation.query_validators(TOP_QUERY)


class Amounts(NamedTuple):
    """The amounts of a class in a tree; the reserved amount in use is usable."""

    used: int
    usable: int
    free: int
    reserved: int

    @property
    def share(self) -> float:
        """The share in use; above 1 if more than the capacity is in use."""
        return self.used / self.usable if self.usable else 0.0


@dataclass(frozen=True, slots=True)
class Host:
    """A host with the sums over its tree by class."""

    root: ProviderState
    amounts: Mapping[str, Amounts]

    @classmethod
    def of(cls, root: ProviderState, members: Iterable[ProviderState]) -> "Host":
        """Return the host of a root and of all providers of its tree."""
        return cls(root, _added(map(_amounts, members)))

    @property
    def fullest(self) -> str:
        """The class with the largest share in use."""
        return max(self.amounts, key=lambda name: self.amounts[name].share)

    def states(self, name: str) -> list[str]:
        """Return the states of the host, of which "full" is about this class."""
        amounts = self.amounts.values()
        has = {
            "full": self.amounts[name].share > FULL,
            "empty": not any(each.used for each in amounts),
            "fragmented": self._is_fragmented(),
            "disabled": DISABLED in self.root.traits,
            "reserved": any(
                each.reserved and not each.free and each.used <= each.usable for each in amounts
            ),
            "over_capacity": any(each.used > each.usable for each in amounts),
        }
        return [state for state, is_so in has.items() if is_so]

    def _is_fragmented(self) -> bool:
        """Return whether much of a class is free that servers cannot use without another class."""
        groups = [names & self.amounts.keys() for names in map(set, NEEDS_OF_SERVERS)]
        return any(
            group and all(self.amounts[name].share > FULL for name in group) for group in groups
        ) and any(each.free and each.share <= 0.5 for each in self.amounts.values())

    def as_json(self, name: str, notes: Mapping[str, str]) -> Json:
        """Return the document of the host with the amounts of a class, and what is free of all."""
        amounts, provider = self.amounts[name], self.root.provider
        return {
            "uuid": provider.uuid,
            "name": provider.name,
            "resource_class": name,
            "share": round(amounts.share, 4),
            **amounts._asdict(),
            "free": {name: amounts.free for name, amounts in self.amounts.items()},
            "states": self.states(name),
            "note": f"disabled {notes[provider.uuid]}" if provider.uuid in notes else "",
        }


def _amounts(member: ProviderState) -> Mapping[str, Amounts]:
    amounts = {}
    for name, inventory in member.inventories.items():
        used = member.used.get(name, 0)
        usable, free = capacity.usable(inventory, used), capacity.free(inventory, used)
        amounts[name] = Amounts(used, int(usable), free, inventory.reserved)
    return amounts


def _added(parts: Iterable[Mapping[str, Amounts]]) -> dict[str, Amounts]:
    """Return the sums by class."""
    by_class: defaultdict[str, list[Amounts]] = defaultdict(list)
    for part in parts:
        for name, amounts in part.items():
            by_class[name].append(amounts)
    return {name: Amounts(*map(sum, zip(*of, strict=True))) for name, of in by_class.items()}


def hosts_with_inventories(snapshot: Snapshot) -> Iterator[Host]:
    """Yield the hosts that have inventories in their tree.

    If no provider has the trait COMPUTE_NODE, roots that are not in use are hosts, too.
    """
    forest = snapshot.forest
    is_host = hosts_of(snapshot) if snapshot.traits.get(COMPUTE_NODE) else snapshot.hosts
    for row in is_host.nonzero()[0].tolist():
        members = map(snapshot.entries.state, forest.members(row))
        host = Host.of(snapshot.entries.state(row), members)
        if host.amounts:
            yield host


@accepts_json
def list_top(request: Request) -> webob.Response:
    """Return the selected hosts, the fullest first, and how many hosts have each state."""
    request.can(policies.PROVIDERS)
    values = queries.values(request, _VALIDATORS)
    store = request.services.store
    return http.computed(request, lambda view: _top(view.snapshot, store, values))


def _top(snapshot: Snapshot, store: Store, values: Mapping[str, str]) -> Json:
    hosts = list(hosts_with_inventories(snapshot))
    counted = Counter(state for host in hosts for state in host.states(host.fullest))
    counts = {state: counted[state] for state in STATES}
    texts = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in counts.items())
    classes = _added(host.amounts for host in hosts)
    ranked = sorted(classes, key=lambda name: -classes[name].share)
    shares = ", ".join(f"{name} {classes[name].share:.0%}" for name in ranked) or "nothing"
    selected = _selected(hosts, values)
    listed = selected[: int(values.get("limit", _LIMIT)) or None]
    disabled = [host.root.provider.uuid for host, _ in listed if DISABLED in host.root.traits]
    with store.read() as tx:
        changes = changes_of_kind(tx.connection, TraitsChange, disabled)
    notes = {
        uuid: record.origin
        for uuid, records in changes.items()
        for record in reversed(records)
        if isinstance(record.change, TraitsChange) and DISABLED in record.change.after
    }
    return document(
        text=f"{len(hosts)} {nouns(len(hosts), 'host')}: {texts}\nIn use on hosts: {shares}",
        counts={"hosts": len(hosts), **counts},
        classes={name: amounts._asdict() for name, amounts in classes.items()},
        selected=len(selected),
        hosts=[host.as_json(name, notes) for host, name in listed],
    )


def _selected(hosts: Sequence[Host], values: Mapping[str, str]) -> list[tuple[Host, str]]:
    """Return the hosts of a query with the class by which they are sorted.  Raises: BadRequest."""
    wanted = values.get("class")
    known = sorted({name for host in hosts for name in host.amounts})
    if wanted and wanted not in known:
        classes = f"There are: {exception.listed(known)}" if known else "There are no hosts"
        raise exception.BadRequest(f"No host has {wanted}. {classes}.")
    states = {state for state in STATES if values.get(state) == "true"}
    aggregate, rack = canonical(values.get("aggregate", "")), values.get("rack")
    pairs = [(host, wanted or host.fullest) for host in hosts if wanted in (None, *host.amounts)]
    selected = [
        (host, name)
        for host, name in pairs
        if (not states or states.issubset(host.states(name)))
        and (not aggregate or aggregate in host.root.aggregates)
        and (not rack or any(trait.startswith(rack) for trait in host.root.traits))
    ]
    return sorted(
        selected, key=lambda pair: (-pair[0].amounts[pair[1]].share, pair[0].root.provider.name)
    )
