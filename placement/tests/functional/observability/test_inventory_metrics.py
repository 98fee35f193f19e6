"""Inventory as metrics: sums and single providers, computed once per interval."""

import threading
from types import SimpleNamespace

import pytest

from placement import exception
from placement.core.model import Inventory, Provider, ProviderState
from placement.db.snapshot.changes import NameTables
from placement.engine.engine import View
from placement.observability import inventory_metrics
from placement.observability.inventory_metrics import (
    InventoryMetrics,
    InventorySettings,
)
from placement.observability.metrics import MetricsMiddleware
from placement.tests.support.provider_tables import snapshot_of_states
from placement.tests.support.queries import snapshot_of
from placement.tests.support.worlds import aggregate_uuid, provider_uuid

prometheus_client = pytest.importorskip("prometheus_client")
pytest.importorskip("prometheus_client.core")
pytest.importorskip("prometheus_client.multiprocess")

CLOUD = snapshot_of("""
    cn1      VCPU=8(used=3, reserved=2, ratio=2.0)  @rack +CUSTOM_AZ_1 +CUSTOM_A
      numa0  MEMORY_MB=100(used=10)
    cn2      VCPU=4(used=1)  @rack @other +CUSTOM_AZ_2
    cn3      VCPU=4
""")


@pytest.fixture
def metrics():
    """Return a function that returns the metrics of a process with these settings."""

    def of(consumers=dict, ids=dict, **options):
        settings = InventorySettings(**options)
        return InventoryMetrics(prometheus_client, settings, consumers, ids)

    return of


def values(text):
    lines = [line for line in text.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_sums_of_cloud_aggregates_and_root_traits(metrics):
    samples = values(metrics(inventory_root_trait_prefix="CUSTOM_AZ_").text(CLOUD))
    rack, other = aggregate_uuid("rack"), aggregate_uuid("other")

    def sums(scope, resource_class, **label):
        labels = {**label, "resource_class": resource_class}
        text = ",".join(f'{name}="{value}"' for name, value in sorted(labels.items()))
        return [
            samples.get(f"placement_{scope}_{name}{{{text}}}")
            for name in ("inventory", "reserved", "capacity", "used")
        ]

    assert sums("cloud", "VCPU") == [16, 2, 12 + 8, 4]
    assert sums("cloud", "MEMORY_MB") == [100, 0, 100, 10]
    assert sums("aggregate", "VCPU", aggregate=rack) == [12, 2, 16, 4]
    assert sums("aggregate", "MEMORY_MB", aggregate=rack) == [100, 0, 100, 10]
    assert sums("aggregate", "VCPU", aggregate=other) == [4, 0, 4, 1]
    assert sums("root_trait", "VCPU", root_trait="CUSTOM_AZ_1") == [8, 2, 12, 3]
    assert sums("root_trait", "MEMORY_MB", root_trait="CUSTOM_AZ_1") == [100, 0, 100, 10]
    assert not any('CUSTOM_A"' in name for name in samples)
    assert samples["placement_hosts"] == 3


def test_used_ids_have_the_name_of_their_column(metrics):
    samples = values(metrics(ids=lambda: {"allocations.id": 0.75}).text(CLOUD))
    assert samples['placement_used_ids_ratio{column="allocations.id"}'] == 0.75


def test_single_providers_have_the_names_of_the_exporter(metrics):
    ids = {CLOUD.state(provider_uuid("cn1")).provider.id: 5}
    samples = values(metrics(lambda: ids, inventory_max_hosts=3).text(CLOUD))
    of_class = {
        name: samples[f'openstack_placement_resource_{name}{{hostname="cn1",resourcetype="VCPU"}}']
        for name in ("inventory", "usage", "reserved", "allocation_ratio")
    }
    assert of_class == {"inventory": 8, "usage": 3, "reserved": 2, "allocation_ratio": 2}
    of_provider = {
        name: samples[f'openstack_placement_resource_{name}{{hostname="cn1"}}']
        for name in ("generation", "traits", "provider_allocations")
    }
    assert of_provider == {"generation": 0, "traits": 2, "provider_allocations": 5}
    assert samples["placement_metrics_by_host"] == 1


def test_above_the_limit_there_are_only_sums(metrics):
    def consumers():
        raise AssertionError("not asked for")

    text = metrics(consumers, inventory_max_hosts=2).text(CLOUD)
    assert b"hostname=" not in text
    assert values(text)["placement_metrics_by_host"] == 0
    assert b"placement_cloud_inventory" in text


def test_inventory_can_be_switched_off(metrics):
    assert metrics(inventory=False).text(CLOUD) == b""


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still; ``clock.now`` sets it."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(inventory_metrics, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_they_are_computed_once_per_interval(metrics, clock):
    computed = []

    def consumers():
        computed.append(clock.now)
        return {}

    process = metrics(consumers, inventory_interval_seconds=60)
    threads = [threading.Thread(target=process.text, args=(CLOUD,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first = process.text(CLOUD)
    clock.now += 59
    assert process.text(CLOUD) == first
    assert computed == [1000]
    clock.now += 1
    assert process.text(CLOUD) == first
    assert computed == [1000, 1060]


def test_without_a_database_they_are_served_until_the_interval_is_over(metrics, clock):
    process = metrics(inventory_interval_seconds=60)
    text = process.text(CLOUD)
    assert process.text(None) == text
    clock.now += 60
    assert process.text(None) == b""


def test_without_the_number_of_consumers_there_are_none(metrics):
    def unreachable():
        raise exception.DatabaseUnavailable

    assert metrics(unreachable).text(CLOUD) == b""


def test_what_is_reserved_while_it_is_in_use_is_capacity(metrics):
    """Four bare metal nodes with servers, one in maintenance, one free: 4 of 5, not 4 of 1."""
    reserved = [(1, 1)] * 4 + [(1, 0), (0, 0)]
    snapshot = snapshot_of_states(
        ProviderState(
            Provider(n, provider_uuid(str(n)), f"node-{n}", 1, None, provider_uuid(str(n))),
            {"CUSTOM_BAREMETAL": Inventory(1, reserved=amount)},
            {"CUSTOM_BAREMETAL": used},
            frozenset(),
            frozenset(),
        )
        for n, (amount, used) in enumerate(reserved, start=1)
    )
    samples = values(metrics().text(snapshot))
    sums = [samples[f'placement_cloud_{name}{{resource_class="CUSTOM_BAREMETAL"}}']
            for name in ("inventory", "reserved", "capacity", "used")]  # fmt: skip
    assert sums == [6, 5, 5, 4]


@pytest.mark.parametrize("hosts", [100, 5_000])
def test_a_scrape_stays_below_300_kilobytes_by_default(metrics, hosts):
    classes = {name: Inventory(100_000) for name in ("VCPU", "MEMORY_MB", "DISK_GB")}
    snapshot = snapshot_of_states(
        ProviderState(
            Provider(n, provider_uuid(str(n)), f"compute-{n:05}.example.org", 1, None,
                     provider_uuid(str(n))),
            classes,
            dict.fromkeys(classes, 12_345),
            frozenset({f"CUSTOM_{n % 7}"}),
            frozenset({aggregate_uuid(str(n % 100)), aggregate_uuid(str(n % 3))}),
        )
        for n in range(1, hosts + 1)
    )  # fmt: skip
    assert len(metrics().text(snapshot)) <= 300_000


class CountingEngine:
    """Counts the reads of its snapshot; None: the database is unreachable."""

    def __init__(self, snapshot):
        self.snapshot = snapshot
        self.reads = 0

    def view(self):
        self.reads += 1
        if self.snapshot is None:
            raise exception.DatabaseUnavailable
        return View(self.snapshot, {}, NameTables({}, {}), 0)


@pytest.mark.parametrize("snapshot", [CLOUD, None], ids=["up", "down"])
def test_a_scrape_reads_the_snapshot_once(metrics, snapshot):
    engine = CountingEngine(snapshot)
    observer = SimpleNamespace(
        library=prometheus_client,
        of_all_processes=prometheus_client.CollectorRegistry,
    )
    scraped = MetricsMiddleware(None, observer, engine.view, metrics().text, []).text()
    assert engine.reads == 1
    samples = values(scraped)
    assert samples["openstack_placement_up"] == (snapshot is not None)
    assert ("placement_hosts" in samples) == (snapshot is not None)
