"""Inventory and usage as Prometheus metrics, computed at most once per interval in a process.

The metrics of single providers have the names of the OpenStack exporter, except for the total,
which is a gauge and ends in ``_inventory``. They are omitted above
[metrics]inventory_max_hosts: 5,000 hosts would be 60,000 series. Sums over the cloud,
over each aggregate and over each trait of a prefix remain.
"""

import operator
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

from placement.core.capacity import usable
from placement.core.model import Inventory, ProviderState
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import DatabaseUnavailable

_OF_INVENTORY: Sequence[tuple[str, str, Callable[[Inventory, int], float]]] = (
    ("inventory", "Total amount of the inventory.", lambda inventory, _: inventory.total),
    ("usage", "Allocated amount.", lambda _, used: used),
    ("reserved", "Reserved amount.", lambda inventory, _: inventory.reserved),
    ("allocation_ratio", "Allocation ratio.", lambda inventory, _: inventory.allocation_ratio),
)
_OF_PROVIDERS: Sequence[tuple[str, str, Callable[[ProviderState, Mapping[int, int]], int]]] = (
    ("generation", "Generation of the provider.", lambda state, _: state.provider.generation),
    ("traits", "Number of traits of the provider.", lambda state, _: len(state.traits)),
    (
        "provider_allocations",
        "Number of consumers with allocations on the provider.",
        lambda state, consumers: consumers.get(state.provider.id, 0),
    ),
)
_OF_SUMS = (
    ("inventory", "Sum of the totals of the inventories."),
    ("reserved", "Sum of the reserved amounts."),
    (
        "capacity",
        "Sum of int((total - reserved) * allocation_ratio), and reserved amounts in use.",
    ),
    ("used", "Sum of the allocated amounts."),
)
_By = dict[tuple[str, str], list[int]]


@dataclass(frozen=True, slots=True)
class InventorySettings:
    """The options of [metrics] about inventory."""

    inventory: bool = True
    inventory_max_hosts: int = 100
    inventory_root_trait_prefix: str = ""
    inventory_interval_seconds: float = 15


class InventoryMetrics:
    """The text of the inventory metrics, at most ``inventory_interval_seconds`` old.

    ``consumers`` returns the number of consumers by provider id; it is called only if there are
    few enough hosts to list every host. ``ids`` returns the used part of the ids by column.
    """

    def __init__(
        self,
        library: ModuleType,
        settings: InventorySettings,
        consumers: Callable[[], Mapping[int, int]],
        ids: Callable[[], Mapping[str, float]],
    ) -> None:
        self._library = library
        self._gauge = library.core.GaugeMetricFamily
        self._settings = settings
        self._consumers = consumers
        self._ids = ids
        self._computing = threading.Lock()
        self._text = b""
        self._computed_at = float("-inf")

    def text(self, snapshot: Snapshot | None) -> bytes:
        """Return the metrics; nothing if they are outdated and the database is unreachable.

        ``snapshot`` is the current one, None without a database. Cost: once per interval, a pass
        over all providers.
        """
        if not self._settings.inventory:
            return b""
        with self._computing:
            if time.monotonic() - self._computed_at < self._settings.inventory_interval_seconds:
                return self._text
            if snapshot is None:
                return b""
            try:
                collector = SimpleNamespace(collect=partial(self._families, snapshot))
                self._text = self._library.generate_latest(collector)
            except DatabaseUnavailable:  # consumers and ids are read from the database
                return b""
            self._computed_at = time.monotonic()
            return self._text

    def _families(self, snapshot: Snapshot) -> Iterator[Any]:
        """Yield the families of single providers, if there are few, and the families of sums."""
        hosts = int(snapshot.hosts.sum())
        limit = self._settings.inventory_max_hosts
        yield self._gauge(
            "placement_hosts", "Number of roots that are not sharing providers.", hosts
        )
        yield self._gauge(
            "placement_metrics_by_host",
            "Whether there are metrics of single providers: 0 above [metrics]inventory_max_hosts.",
            int(hosts <= limit),
        )
        used_ids = self._gauge(
            "placement_used_ids_ratio",
            "Part of the ids of 32 bits that the database has assigned.",
            labels=("column",),
        )
        for column, share in self._ids().items():
            used_ids.add_metric((column,), share)
        yield used_ids
        if hosts <= limit:
            yield from self._by_provider(snapshot)
        yield from self._sums(snapshot)

    def _by_provider(self, snapshot: Snapshot) -> Iterator[Any]:
        states = list(snapshot.states())
        for name, text, read in _OF_INVENTORY:
            family = self._family(f"resource_{name}", text, "hostname", "resourcetype")
            for state in states:
                for resource_class, inventory in state.inventories.items():
                    value = read(inventory, state.used.get(resource_class, 0))
                    family.add_metric((state.provider.name, resource_class), value)
            yield family
        consumers = self._consumers()
        for name, text, count in _OF_PROVIDERS:
            family = self._family(f"resource_{name}", text, "hostname")
            for state in states:
                family.add_metric((state.provider.name,), count(state, consumers))
            yield family

    def _family(self, name: str, text: str, *labels: str) -> Any:
        return self._gauge(f"openstack_placement_{name}", text, labels=labels)

    def _sums(self, snapshot: Snapshot) -> Iterator[Any]:
        """Yield the sums over all providers, by aggregate and by trait of the root."""
        scopes = (("cloud", ()), ("aggregate", ("aggregate",)), ("root_trait", ("root_trait",)))
        sums = _sums_by_label(snapshot, self._settings.inventory_root_trait_prefix)
        for (scope, labels), by_label in zip(scopes, sums, strict=True):
            for place, (name, text) in enumerate(_OF_SUMS):
                family = self._gauge(
                    f"placement_{scope}_{name}", text, labels=(*labels, "resource_class")
                )
                for (label, resource_class), amounts in sorted(by_label.items()):
                    family.add_metric(
                        (*([label] if labels else ()), resource_class), amounts[place]
                    )
                yield family


def _sums_by_label(snapshot: Snapshot, prefix: str) -> Sequence[_By]:
    """Return the sums of the cloud, by aggregate and by trait of the root.

    The aggregates and traits of a root apply to its tree; an aggregate of a child only adds the
    child. A provider in several aggregates counts in every one of them.
    """
    scopes: Sequence[_By] = [defaultdict(lambda: [0] * len(_OF_SUMS)) for _ in range(3)]
    for state in snapshot.states():
        root = snapshot.state(state.provider.root_uuid) or state
        traits = [name for name in root.traits if prefix and name.startswith(prefix)]
        labels = (("",), state.aggregates | root.aggregates, traits)
        for resource_class, inventory in state.inventories.items():
            used = state.used.get(resource_class, 0)
            capacity = int(usable(inventory, used))
            amounts = inventory.total, inventory.reserved, capacity, used
            for sums, names in zip(scopes, labels, strict=True):
                for name in names:
                    totals = sums[name, resource_class]
                    totals[:] = map(operator.add, totals, amounts)
    return scopes
