"""Inventory and usage as Prometheus metrics, computed at most once per interval in a process.

The metrics of single providers have the names of the OpenStack exporter. They are omitted above
[metrics]inventory_max_hosts: 5,000 hosts would be 60,000 series. Sums over the cloud,
over each aggregate and over each trait of a prefix remain.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from placement.core.capacity import integer_capacity
from placement.core.model import Inventory, ProviderState
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import DatabaseUnavailable

_OF_INVENTORY: Sequence[tuple[str, str, Callable[[Inventory, int], float]]] = (
    ("total", "Total amount of the inventory.", lambda inventory, _: inventory.total),
    ("usage", "Allocated amount.", lambda _, used: used),
    ("reserved", "Reserved amount.", lambda inventory, _: inventory.reserved),
    ("allocation_ratio", "Allocation ratio.", lambda inventory, _: inventory.allocation_ratio),
)
_OF_SUMS = (
    ("total", "Sum of the totals of the inventories."),
    ("reserved", "Sum of the reserved amounts."),
    ("capacity", "Sum of int((total - reserved) * allocation_ratio)."),
    ("used", "Sum of the allocated amounts."),
)
_By = dict[tuple[str, str], list[int]]


@dataclass(frozen=True, slots=True)
class InventorySettings:
    """The options of [metrics] about inventory."""

    enabled: bool = True
    max_hosts: int = 100
    root_trait_prefix: str = ""
    interval_seconds: float = 15


class InventoryMetrics:
    """The text of the inventory metrics, at most ``interval_seconds`` old.

    ``consumers`` returns the number of consumers by provider id; it is called only if there are
    few enough hosts to list every host.
    """

    def __init__(
        self,
        library: ModuleType,
        settings: InventorySettings,
        consumers: Callable[[], Mapping[int, int]],
    ) -> None:
        self._library = library
        self._settings = settings
        self._consumers = consumers
        self._computing = threading.Lock()
        self._text = b""
        self._computed_at = float("-inf")

    def text(self, snapshot: Snapshot | None) -> bytes:
        """Return the metrics; nothing if they are outdated and the database is unreachable.

        ``snapshot`` is the current one, None without a database. Cost: once per interval, a pass
        over all providers.
        """
        if not self._settings.enabled:
            return b""
        with self._computing:
            if time.monotonic() - self._computed_at < self._settings.interval_seconds:
                return self._text
            if snapshot is None:
                return b""
            try:
                self._text = self._computed(snapshot)
            except DatabaseUnavailable:  # the consumers are counted in the database
                return b""
            self._computed_at = time.monotonic()
            return self._text

    def _computed(self, snapshot: Snapshot) -> bytes:
        gauge = self._library.core.GaugeMetricFamily
        registry = self._library.CollectorRegistry()
        registry.register(InventoryCollector(snapshot, self._settings, self._consumers, gauge))
        text: bytes = self._library.generate_latest(registry)
        return text


@dataclass(frozen=True, slots=True, eq=False)
class InventoryCollector:
    """Collects the metric families of one snapshot."""

    snapshot: Snapshot
    settings: InventorySettings
    consumers: Callable[[], Mapping[int, int]]
    gauge: Callable[..., Any]

    def collect(self) -> Iterator[Any]:
        """Yield the families of single providers, if there are few, and the families of sums."""
        hosts = int(self.snapshot.forest.is_root.sum())
        limit = self.settings.max_hosts
        yield self.gauge("placement_hosts", "Number of root providers.", hosts)
        yield self.gauge(
            "placement_metrics_by_host",
            "Whether there are metrics of single providers: 0 above [metrics]inventory_max_hosts.",
            int(hosts <= limit),
        )
        if hosts <= limit:
            yield from self._by_provider()
        yield from self._sums()

    def _by_provider(self) -> Iterator[Any]:
        states = list(self.snapshot.states())
        for name, text, read in _OF_INVENTORY:
            family = self._family(f"resource_{name}", text, "hostname", "resourcetype")
            for state in states:
                for resource_class, inventory in state.inventories.items():
                    value = read(inventory, state.used.get(resource_class, 0))
                    family.add_metric((state.provider.name, resource_class), value)
            yield family
        held = self.consumers()
        for name, text, of in (
            (
                "generation",
                "Generation of the provider.",
                lambda state: state.provider.generation,
            ),
            ("traits", "Number of traits of the provider.", lambda state: len(state.traits)),
            (
                "provider_allocations",
                "Number of consumers with allocations on the provider.",
                lambda state: held.get(state.provider.id, 0),
            ),
        ):
            family = self._family(f"resource_{name}", text, "hostname")
            for state in states:
                family.add_metric((state.provider.name,), of(state))
            yield family

    def _family(self, name: str, text: str, *labels: str) -> Any:
        return self.gauge(f"openstack_placement_{name}", text, labels=labels)

    def _sums(self) -> Iterator[Any]:
        """Yield the sums over all providers, by aggregate and by trait of the root."""
        sums = _Sums(self.snapshot, self.settings.root_trait_prefix)
        for scope, labels, by_label in (
            ("cloud", (), sums.cloud),
            ("aggregate", ("aggregate",), sums.aggregates),
            ("root_trait", ("root_trait",), sums.root_traits),
        ):
            for place, (name, text) in enumerate(_OF_SUMS):
                family = self.gauge(
                    f"placement_{scope}_{name}", text, labels=(*labels, "resource_class")
                )
                for (label, resource_class), amounts in sorted(by_label.items()):
                    family.add_metric(
                        (*([label] if labels else ()), resource_class), amounts[place]
                    )
                yield family


class _Sums:
    """Sums by label and resource class, in the order of ``_OF_SUMS``.

    The aggregates and traits of a root apply to its tree; an aggregate of a child only adds the
    child. A provider in several aggregates counts in every one of them.
    """

    def __init__(self, snapshot: Snapshot, prefix: str) -> None:
        self.cloud: _By = defaultdict(_zero)
        self.aggregates: _By = defaultdict(_zero)
        self.root_traits: _By = defaultdict(_zero)
        self._prefix = prefix
        for state in snapshot.states():
            if state.inventories:
                root = snapshot.state(state.provider.root_uuid) or state
                self._add(state, root)

    def _add(self, state: ProviderState, root: ProviderState) -> None:
        traits = [name for name in root.traits if self._prefix and name.startswith(self._prefix)]
        labels = (
            (self.cloud, ("",)),
            (self.aggregates, state.aggregates | root.aggregates),
            (self.root_traits, traits),
        )
        for resource_class, inventory in state.inventories.items():
            amounts = (
                inventory.total,
                inventory.reserved,
                integer_capacity(inventory),
                state.used.get(resource_class, 0),
            )
            for sums, names in labels:
                _add_to(sums, names, resource_class, amounts)


def _add_to(sums: _By, labels: Iterable[str], resource_class: str, amounts: Sequence[int]) -> None:
    for label in labels:
        totals = sums[label, resource_class]
        for place, amount in enumerate(amounts):
            totals[place] += amount


def _zero() -> list[int]:
    return [0] * len(_OF_SUMS)
