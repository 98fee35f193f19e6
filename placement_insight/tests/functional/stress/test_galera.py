"""The service on two nodes of a cluster of three: ``make test-galera``."""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pymysql
import pytest
import sqlalchemy as sa
import webtest

from placement import errors, exception
from placement.core.model import CreateInventory, IncompleteConsumer, Inventory, UpdateProvider
from placement.db import clocks
from placement.db import errors as db_errors
from placement.db import store as store_module
from placement.db.connections import messages, server_checks, session_settings
from placement.db.schema import migration, revisions, seed
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.db.tables import projects
from placement.engine.engine import Engine
from placement.objects import allocation, inventory, provider, resource_class, trait
from placement.tests.functional.db.connections import dumps
from placement.tests.functional.db.interleavings.pairs import pairs
from placement.tests.functional.db.schema import sync_without_get_lock
from placement.tests.functional.db.test_numbers_used_up import (
    BIGINT,
    LAST,
    set_last_id,
    write_often,
)
from placement.tests.functional.db.test_other_implementation import (
    add_names,
    assert_equal_to_a_new_process,
)
from placement.tests.functional.stress.api import Api, Client
from placement.tests.functional.stress.galera import cluster
from placement.tests.functional.stress.workload import (
    CLIENTS,
    SECONDS,
    assert_consistent,
    new_shared_state,
    report,
    running_clients,
    wait_until_served,
)
from placement.tests.support.factories import (
    assert_sound,
    claim,
    generation,
    new_provider,
    set_inventories,
    used,
    uuid,
)
from placement.tests.support.lock_waits import LOCK_TIMEOUTS, set_timeouts
from placement.tests.support.proxy import Proxy
from placement.tests.support.races import accepted, at_once, paused_at
from placement.tests.support.servers import Missing
from placement.tests.support.sql import execute
from placement.tests.support.waiting import at_most
from placement_insight.audit.repair.apply import apply_action
from placement_insight.audit.repair.names import DeleteConsumerType
from placement_insight.explain.records.model import RecordedFilter
from placement_insight.explain.records.recorder import PRUNE_AFTER_ROWS, Recorder, RecorderSettings
from placement_insight.explain.records.sql import find
from placement_insight.tests.functional.audit.repair.interleavings.kinds import ALL as KINDS
from placement_insight.tests.functional.docs.test_backup_and_restore import (
    PROCESSES,
    check_restore,
    runner,
)
from placement_insight.tests.functional.history.replay import oldest_first, state_of
from placement_insight.tests.support.records import record

TIMES = 8
SECONDS_TO_RECOVER = 30
DOCUMENTED_SECONDS = 45  # on the page on high availability
SHORT_LIMITS = 16  # of 4 seconds; without them at least 20
ADMIN = {"HTTP_X_AUTH_TOKEN": "admin", "HTTP_OPENSTACK_API_VERSION": "placement latest"}
PAIRS = int(os.environ.get("GALERA_PAIRS", "30"))
FIXED = [
    (first, second)
    for second in ("create incomplete consumers", "repair: create a consumer")
    for first in ("release a consumer without row", "empty allocations of a consumer without row")
] + [
    ("set roots", "set roots"),
    ("repair: remove allocations, and undo", "repair: remove allocations"),
    ("repair: remove allocations, and undo", "repair: remove allocations, and undo"),
]
SYNC_ROUNDS = int(os.environ.get("SYNC_ROUNDS", "2"))

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif("GALERA" not in os.environ, reason="make test-galera"),
    pytest.mark.timeout(SECONDS * 3 + 300),
]


@pytest.fixture(scope="module")
def nodes():
    try:
        context = cluster()
        cluster_nodes = context.__enter__()
    except Missing as missing:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(missing))
    yield cluster_nodes
    context.__exit__(None, None, None)


@pytest.fixture
def stores(nodes):
    """A store on each of two nodes, on one new database."""
    nodes[0].execute("DROP DATABASE IF EXISTS placement")
    nodes[0].create("placement")
    stores = [
        Store(DatabaseSettings(connection=node.tcp_url("placement"), max_retries=0))
        for node in nodes[:2]
    ]
    migration.upgrade(stores[0])
    seed.sync(stores[0])
    yield stores
    for store in stores:
        store.dispose()


@contextmanager
def under_load(name, nodes, stores, folder, count=CLIENTS):
    """Clients of an API on each of two nodes; at the end, what was acknowledged must be stored.

    No claim is lost or doubled, no capacity exceeded. A 5xx other than 503 with Retry-After is
    a violation. Nodes know no locks of others: on a busy machine, a claim on hosts that all
    clients use may conflict at each of its attempts. It is refused with 409, and not stored.
    """
    shared = new_shared_state(stores[0], survives_outages=True, attempts_are_used_up=True)
    before, started_at = state_of(stores[0]), time.monotonic()
    with ExitStack() as stack:
        apis = [
            stack.enter_context(Api(folder / f"api{at}", node.tcp_url("placement"), workers=2))
            for at, node in enumerate(nodes[:2])
        ]
        with running_clients(shared, [api.port for api in apis], count) as clients:
            time.sleep(SECONDS)
            yield apis, shared, clients
            recovered = wait_until_served(clients, SECONDS_TO_RECOVER)
            errors = shared.history.unavailable
            time.sleep(SECONDS)
            assert shared.history.unavailable == errors, "errors after the cluster is complete"
        report(name, shared, 2 * len(apis), time.monotonic() - started_at)
        print(f"served again {recovered:.1f} s after the cluster was complete")
        assert_consistent(stores[1], shared, clients)
        replayed = before.replay(oldest_first(stores[0])).values()
        assert [state_of(store).values() for store in stores] == [replayed] * len(stores)
        for api in apis:
            assert "Traceback" not in api.log.read_text()


def test_stress_on_two_nodes_while_the_third_is_killed_and_joins_again(nodes, stores, tmp_path):
    """The two keep the quorum: no request fails, also not before they have noticed the kill.

    Commits wait until then. Each process has 4 threads, of which all but one may wait: if all
    clients write to one process, none gets a 503. Only if the machine is so busy that the nodes
    lose each other, the requests meanwhile do.
    """
    load = under_load("stress on galera", nodes, stores, tmp_path, count=3)
    with load as (_apis, shared, clients):
        losses = quorum_losses(nodes[:2])
        nodes[2].kill()
        for node in nodes[:2]:
            node.wait_for_status("wsrep_cluster_size", "2")
        wait_until_served(clients, SECONDS_TO_RECOVER)
        time.sleep(SECONDS)
        nodes[2].start()
        assert not shared.history.unavailable or quorum_losses(nodes[:2]) > losses
    third = Store(DatabaseSettings(connection=nodes[2].tcp_url("placement")))
    assert_sound(third)
    third.dispose()


def quorum_losses(nodes) -> int:
    return sum(node.quorum_losses() for node in nodes)


def test_stress_on_two_nodes_while_one_of_them_is_isolated(nodes, stores, tmp_path):
    """Without quorum each request gets a 503; the other node serves all the time."""
    with under_load("isolated node", nodes, stores, tmp_path) as (apis, shared, _clients):
        host = shared.hosts[0]
        isolated, other = Client([apis[0].port]), Client([apis[1].port])
        with nodes[0].isolated():
            response = isolated.send("GET", f"/resource_providers/{host}")
            assert (response.status, response.retry_after) == (503, "1")
            for _ in range(20):
                assert other.send("GET", f"/resource_providers/{host}").status == 200
            time.sleep(SECONDS)
        assert shared.history.unavailable > 0


def test_a_proxy_switches_from_a_node_without_quorum_to_another(nodes, stores, monkeypatch):
    """Open connections to the node are replaced; the request is repeated on the other node.

    Also before the next periodic check of these connections.
    """
    monkeypatch.setattr(server_checks, "INTERVAL_SECONDS", 3600)
    host = new_provider(stores[0], VCPU=10)
    with Proxy(nodes[0].port) as proxy:
        url = nodes[0].tcp_url("placement", port=proxy.port)
        store = Store(DatabaseSettings(connection=url, max_retries=0))
        claim(store, uuid(), {host: {"VCPU": 1}})
        assert used(store, host) == {"VCPU": 1}
        with nodes[0].isolated():
            proxy.switch(nodes[1].port)
            claim(store, uuid(), {host: {"VCPU": 1}})
            assert used(store, host) == {"VCPU": 2}
        store.dispose()


def test_a_read_on_one_node_sees_what_another_acknowledged(stores):
    host, seconds = new_provider(stores[0], VCPU=1000), []
    for count in range(100):
        claim(stores[count % 2], uuid(), {host: {"VCPU": 1}})
        started_at = time.monotonic()
        assert used(stores[1 - count % 2], host) == {"VCPU": count + 1}
        seconds.append(time.monotonic() - started_at)
    print(f"\nRead after a write on another node: median {sorted(seconds)[50] * 1000:.1f} ms")


def test_recorders_on_two_nodes_lose_nothing_and_keep_the_bounds(stores):
    """Both prune the same rows at once, which Galera notices at the commit of one of them."""
    limits = RecorderSettings(record_max_rows=150, record_per_second=1000)
    recorders = [Recorder(store, limits) for store in stores]

    def record_many(node):
        for number in range(300):
            recorders[node].record(record(300 * node + number))

    with ThreadPoolExecutor(len(recorders)) as pool:
        list(pool.map(record_many, range(len(recorders))))
    rows = find(stores[0], RecordedFilter(limit=1000))
    assert 150 <= len(rows) <= 150 + len(recorders) * PRUNE_AFTER_ROWS
    assert [recorder.dropped for recorder in recorders] == [0, 0]


def test_a_record_that_a_node_refuses_is_dropped_alone(stores):
    recorder = Recorder(stores[0], RecorderSettings())
    for waiting in (record(0), replace(record(1), subject="x" * 300)):
        recorder._add(waiting)
    recorder.record(record(2))
    stored = {each.request_id for each in find(stores[1], RecordedFilter())}
    assert (stored, recorder.dropped) == ({"req-0", "req-2"}, 1)


def test_six_clients_on_two_nodes_claim_the_last_two_units(stores):
    for _ in range(TIMES):
        host = new_provider(stores[0], VCPU=2)
        clients = [
            lambda host=host, at=at: claim(stores[at % 2], uuid(), {host: {"VCPU": 1}})
            for at in range(6)
        ]
        assert accepted(at_once(*clients)) == 2
        assert used(stores[1], host) == {"VCPU": 2}
    assert_sound(stores[1])


def test_a_class_is_used_on_one_node_while_it_is_removed_on_another(stores):
    for turn in range(TIMES):
        host, name = new_provider(stores[0]), f"CUSTOM_{turn}"
        resource_class.create(stores[0], name)
        works = (
            lambda name=name: resource_class.delete(stores[0], name),
            lambda host=host, name=name: inventory.create(
                stores[1], CreateInventory(host, name, Inventory(total=1))
            ),
        )
        with paused_at(stores[0], "UPDATE clocks") as run:
            assert accepted(run(*works)) == 1
        assert_sound(stores[1])


def test_a_trait_is_used_on_one_node_while_it_is_removed_on_another(stores):
    for turn in range(TIMES):
        host, name = new_provider(stores[0]), f"CUSTOM_{turn}"
        trait.ensure(stores[0], name)
        works = (
            lambda name=name: trait.delete(stores[0], name),
            lambda host=host, name=name: trait.replace(
                stores[1], host, generation(stores[1], host), [name]
            ),
        )
        with paused_at(stores[0], "UPDATE clocks") as run:
            assert accepted(run(*works)) == 1
        assert_sound(stores[1])


def test_a_consumer_type_is_used_on_one_node_while_it_is_removed_on_another(stores):
    """Galera certifies the foreign key: the claim is run again, or the type is in use."""

    def delete_type():
        action = DeleteConsumerType(type="VOLUME")
        return apply_action(stores[0], action, IncompleteConsumer("", ""), lambda _entry: None)

    host = new_provider(stores[0], VCPU=10_000)
    for turn in range(6 * TIMES):
        used, claimed = uuid(), uuid()
        claim(stores[0], used, {host: {"VCPU": 1}}, type="VOLUME")
        allocation.delete(stores[0], used)
        works = (
            delete_type,
            lambda claimed=claimed: claim(stores[1], claimed, {host: {"VCPU": 1}}, type="VOLUME"),
        )
        with paused_at(stores[0], "DELETE FROM consumer_types") as run:
            outcomes = at_once(*works) if turn % 3 else run(*works)
        assert accepted(outcomes) == 2
        assert allocation.of_consumer(stores[1], claimed).consumer.type == "VOLUME"
        for store in stores:
            assert_sound(store)
        allocation.delete(stores[1], claimed)


def test_trees_change_on_two_nodes_at_once(stores):
    def move(at, moved, parent):
        return provider.update(
            stores[at], UpdateProvider(moved, f"moved-{moved}", parent, may_move=True)
        )

    for turn in range(3 * TIMES):
        one, two, three = (new_provider(stores[0]) for _ in range(3))
        below = new_provider(stores[0], parent=one)
        assert (
            accepted(
                at_once(
                    lambda one=one, two=two: move(0, one, two),
                    lambda one=one, two=two: move(1, two, one),
                )
            )
            == 1
        )
        at_once(
            lambda below=below, three=three: move(0, below, three),
            lambda below=below, turn=turn: provider.create(
                stores[1], uuid(), f"new-{turn}", below
            ),
            lambda below=below: provider.delete(stores[1], below),
        )
        assert_sound(stores[1])


def test_a_node_outside_of_the_cluster_is_unavailable(nodes, stores):
    """It must neither read nor write: it does not have the writes of the others."""
    host = new_provider(stores[0], VCPU=10)
    for node in nodes[1:]:
        node.kill()
    nodes[0].wait_for_status("wsrep_cluster_status", "non-Primary")
    with pytest.raises(exception.DatabaseUnavailable):
        claim(stores[0], uuid(), {host: {"VCPU": 1}})
    with pytest.raises(exception.DatabaseUnavailable):
        stores[0].probe()
    nodes[0].execute("SET GLOBAL wsrep_provider_options = 'pc.bootstrap=true'")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda node: node.start(), nodes[1:]))
    claim(stores[1], uuid(), {host: {"VCPU": 1}})
    assert used(stores[0], host) == {"VCPU": 1}


def test_a_dump_restored_through_one_node_is_read_by_the_processes_of_each_node(
    nodes, stores, monkeypatch
):
    """Each node creates the tables at a time of its own."""
    monkeypatch.setattr(server_checks, "INTERVAL_SECONDS", 0.1)
    dump = dumps.OfMariaDb(nodes[0], "placement")
    dumps.prepare(dump, stores[0])
    dumps.check_restore(dump, stores, pause_seconds=0.3)
    migration.sync(stores[1])
    for store in stores:
        claim(store, uuid(), {new_provider(store, VCPU=1): {"VCPU": 1}})
        assert_sound(store)


@PROCESSES
def test_the_page_about_backups_on_three_nodes(nodes, stores, tmp_path, monkeypatch, running):
    """The commands are run on one node; the others have the restored data."""
    for store in stores:
        store.dispose()
    urls = [node.tcp_url("placement") for node in nodes]
    check_restore(urls, runner(tmp_path, nodes[0], "placement"), monkeypatch, running)


def test_a_process_that_first_reaches_a_node_after_a_restore_loads_the_data(nodes, stores):
    """The clocks have the values that the process has read from another node."""
    host = new_provider(stores[0], VCPU=8)
    dump = dumps.OfMariaDb(nodes[0], "placement")
    dump.save()
    with Proxy(nodes[0].port) as proxy:
        url = nodes[0].tcp_url("placement", port=proxy.port)
        store = Store(DatabaseSettings(connection=url, max_retries=0))
        claim(stores[0], uuid(), {host: {"VCPU": 2}})
        engine = Engine(store)
        seen = engine.view()
        dump.restore(0)
        claim(stores[0], uuid(), {host: {"VCPU": 1}})
        assert stores[0].probe() == seen.clocks
        proxy.switch(nodes[1].port)
        store.engines().reader.dispose()
        assert engine.current().state(host).used == {"VCPU": 1}
        store.dispose()


@pytest.mark.parametrize("table", ["allocations", "consumers", "inventories"])
def test_ids_that_are_used_up_have_64_bits_after_the_statements_of_the_page(stores, table):
    """Each node takes every third id, and none after the last one."""
    host = new_provider(stores[0], VCPU=100)
    set_last_id(stores[0], "mariadb", table, LAST - 1)
    for store in stores:
        with pytest.raises(exception.NumbersUsedUp) as caught:
            write_often(store, table, host)
        assert table in caught.value.tables
    for statement in BIGINT["mariadb"]:
        execute(stores[0], statement.format(table))
    for store in stores:
        write_often(store, table, host)
        assert_sound(store)


def test_names_inserted_by_others_through_a_node_are_seen_on_the_others(stores):
    host, engine = new_provider(stores[0], VCPU=8), Engine(stores[1])
    engine.current()
    add_names(stores[0])
    set_inventories(stores[0], host, VCPU=8, CUSTOM_FPGA=2)
    trait.replace(stores[0], host, generation(stores[0], host), ["CUSTOM_FAST"])
    state = engine.current().state(host)
    assert (state.inventories.keys(), state.traits) == ({"VCPU", "CUSTOM_FPGA"}, {"CUSTOM_FAST"})
    assert_equal_to_a_new_process(stores[1], engine)


# --- schemas ------------------------------------------------------------------------------


@pytest.fixture
def empty_urls(nodes):
    """The URL of a database without tables, on each node."""
    nodes[0].execute("DROP DATABASE IF EXISTS placement_sync")
    nodes[0].create("placement_sync")
    return [node.tcp_url("placement_sync") for node in nodes]


@pytest.mark.parametrize("is_locked", [True, False], ids=["locked", "get_lock_forbidden"])
@pytest.mark.parametrize("_round", range(SYNC_ROUNDS))
def test_four_processes_on_three_nodes_migrate_at_once(empty_urls, is_locked, _round):
    """The lock of a migration is local to a node: some end with a sentence, and are run again."""
    command = ("-m", "placement.cmd.manage", "db", "sync") if is_locked else ()
    syncs = [sync_without_get_lock.start(url, *command) for url in (*empty_urls, empty_urls[0])]
    outputs = [sync.communicate(timeout=300)[0] for sync in syncs]
    assert not any("Traceback" in output for output in outputs), outputs
    for sync, output in zip(syncs, outputs, strict=True):
        assert sync.returncode == 0 or "`placement-manage db sync`" in output, output
    print(f"{sum(sync.returncode != 0 for sync in syncs)} of 4 processes have to run again")
    again = sync_without_get_lock.start(empty_urls[1], *command)
    output = again.communicate(timeout=300)[0]
    assert again.returncode == 0, output
    assert_migrated(empty_urls)


def test_services_with_sync_on_startup_start_on_three_nodes_at_once(empty_urls, tmp_path):
    """After `db sync` on one of them."""
    migration.sync(Store(DatabaseSettings(connection=empty_urls[0], max_retries=0)))
    apis = [
        Api(tmp_path / f"api{at}", url, workers=2, sync_on_startup=True)
        for at, url in enumerate((*empty_urls, empty_urls[0]))
    ]
    with ExitStack() as stack, ThreadPoolExecutor(len(apis)) as pool:
        list(pool.map(stack.enter_context, apis))
        for api in apis:
            client = Client([api.port])
            assert client.send("GET", "/resource_providers").status == 200
            assert "Traceback" not in api.log.read_text()
    assert_migrated(empty_urls)


def assert_migrated(urls):
    for url in urls:
        store = Store(DatabaseSettings(connection=url, max_retries=0))
        assert revisions.version(store) == migration.HEAD
        seed.sync(store)
        assert_sound(store)
        assert len(store.probe()) == clocks.CLOCKS
        store.dispose()


def test_reads_are_not_dirty_where_the_server_allows_it(nodes, stores):
    """A node with wsrep_dirty_reads by default would respond before it has applied a write."""
    nodes[1].execute("SET GLOBAL wsrep_dirty_reads = ON")
    try:
        stores[1].dispose()
        host = new_provider(stores[0], VCPU=1000)
        for count in range(150):
            claim(stores[0], uuid(), {host: {"VCPU": 1}})
            assert used(stores[1], host) == {"VCPU": count + 1}
    finally:
        nodes[1].execute("SET GLOBAL wsrep_dirty_reads = OFF")


def test_claims_without_quorum_are_unavailable_where_dirty_reads_are_allowed(nodes, stores):
    """New connections can be opened then: error 1205 instead of 1047."""
    host = new_provider(stores[0], VCPU=10)
    nodes[0].execute("SET GLOBAL wsrep_dirty_reads = ON")
    try:
        with nodes[0].isolated():
            for _ in range(3):
                with pytest.raises(exception.DatabaseUnavailable):
                    claim(stores[0], uuid(), {host: {"VCPU": 1}})
                stores[0].dispose()
    finally:
        nodes[0].execute("SET GLOBAL wsrep_dirty_reads = OFF")
    claim(stores[0], uuid(), {host: {"VCPU": 1}})
    assert used(stores[1], host) == {"VCPU": 1}


def test_quorum_that_is_lost_at_the_commit_is_unavailable(nodes, stores):
    """Error 1180. The write is reported, not repeated: another node may have it."""
    runs = []

    def work(tx):
        runs.append(tx.connection.execute(projects.insert(), {"external_id": "lost"}))
        nodes[0].isolate()

    try:
        with pytest.raises(exception.CommitLost, match="committed or not") as caught:
            stores[0].write(work)
    finally:
        nodes[0].join_again()
    assert db_errors.code(caught.value.__cause__.__cause__) == 1180
    response = errors.http_error(caught.value)
    assert (response.status, dict(response.headers)) == (503, {"Retry-After": "1"})
    assert len(runs) == 1


@pytest.fixture
def database_url(nodes, stores):
    """The URL of the service in this process."""
    return nodes[0].tcp_url("placement")


@pytest.fixture
def isolated_at_first_commit(nodes):
    """Isolate the node before the last statements of the next write; yield these statements."""
    statements = []

    def isolate(_connection, _cursor, statement, *_):
        if "UPDATE clocks" in statement and not statements:
            statements.append(statement)
            nodes[0].isolate()

    def listen():
        sa.event.listen(sa.Engine, "before_cursor_execute", isolate)
        return statements

    yield listen
    sa.event.remove(sa.Engine, "before_cursor_execute", isolate)
    nodes[0].join_again()


def test_request_whose_quorum_is_lost_at_the_commit_gets_503(
    nodes, stores, application, isolated_at_first_commit
):
    """The claim may be stored or not; all nodes agree about it."""
    host, consumer = new_provider(stores[0], VCPU=8), uuid()
    claim_body = {
        "allocations": {host: {"resources": {"VCPU": 1}}},
        "project_id": "project",
        "user_id": "user",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    http = webtest.TestApp(application, extra_environ=ADMIN)
    statements = isolated_at_first_commit()
    response = http.put_json(f"/allocations/{consumer}", claim_body, expect_errors=True)
    assert statements
    assert (response.status_int, response.headers["Retry-After"]) == (503, "1")
    assert "committed or not" in response.text
    nodes[0].join_again()
    assert used(stores[0], host) == used(stores[1], host)
    assert_sound(stores[1])


def test_a_backup_that_locks_all_tables_is_waited_for_and_then_reported(
    nodes, stores, monkeypatch
):
    """Reads succeed or are unavailable, never a conflict; writes end in the documented time.

    Reads wait for what another node has written meanwhile, which this one cannot apply. The
    times are shortened: 30 seconds for attempts, 10 for the last lock, 30 for a read.
    """
    assert store_module.RETRY_SECONDS + session_settings.LOCK_TIMEOUT_SECONDS < DOCUMENTED_SECONDS
    monkeypatch.setattr(store_module, "RETRY_SECONDS", 3)
    set_timeouts(monkeypatch, LOCK_TIMEOUTS, seconds=1)
    nodes[0].set_provider_option("repl.causal_read_timeout=PT2S")
    nodes[0].execute("SET GLOBAL lock_wait_timeout = 20")  # by default a day
    store = Store(DatabaseSettings(connection=nodes[0].tcp_url("placement"), max_retries=0))
    host = new_provider(store, VCPU=1000)
    try:
        with (
            pymysql.connect(host="127.0.0.1", port=nodes[0].port, user="root") as backup,
            backup.cursor() as cursor,
        ):
            cursor.execute("FLUSH TABLES WITH READ LOCK")
            provider.show(store, host)
            with at_most(SHORT_LIMITS), pytest.raises(exception.DatabaseUnavailable):
                claim(store, uuid(), {host: {"VCPU": 1}})
            claim(stores[1], uuid(), {host: {"VCPU": 1}})
            for read in (store.probe, lambda: provider.show(store, host)):
                with at_most(SHORT_LIMITS), pytest.raises(exception.DatabaseUnavailable):
                    read()
            cursor.execute("UNLOCK TABLES")
    finally:
        nodes[0].set_provider_option("repl.causal_read_timeout=PT30S")
        nodes[0].execute("SET GLOBAL lock_wait_timeout = DEFAULT")
    claim(store, uuid(), {host: {"VCPU": 1}})
    assert used(store, host) == {"VCPU": 2}
    store.dispose()


def test_interleavings_of_writes_on_two_nodes(stores, monkeypatch):
    """The first write of a pair is sent to one node, the second one to another node."""
    monkeypatch.setattr(messages, "DRIVERS", frozenset())
    drawn = [*FIXED, *(random.choices(list(KINDS), k=2) for _ in range(PAIRS))]
    with pairs(*stores, kinds=KINDS) as tried:
        failures = [failure for pair in drawn for failure in tried.failures(*pair)]
        print(f"\n{tried.interleavings} interleavings, {tried.comparisons} snapshots")
    assert not failures, "\n".join(failures)
