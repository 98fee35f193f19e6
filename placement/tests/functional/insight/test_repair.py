"""Plan, apply and undo on each database: repairs what the audit finds, and nothing else."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from placement.cmd import audit as command
from placement.cmd import manage, repair
from placement.core.insight.audit import AuditSettings
from placement.core.insight.planning import REPAIRABLE
from placement.db.sqlalchemy import models
from placement.insight.audit import audit
from placement.tests.functional.db.factories import allocations_of, assert_sound, claim, uuid
from placement.tests.functional.insight.defects import DEFECTS, Host

TABLES = (
    *(models.allocations, models.consumers, models.inventories, models.resource_classes),
    *(models.traits, models.resource_providers, models.resource_provider_traits),
)
REPAIRED = [name for name, (code, _) in DEFECTS.items() if code in REPAIRABLE]


def image(store):
    """Return all rows, but for the clocks' stamps."""
    with store.read() as tx:
        return {
            table.name: sorted(
                str({name: value for name, value in row.items() if name != "stamp"})
                for row in tx.connection.execute(sa.select(table)).mappings()
            )
            for table in TABLES
        }


def without_generations(rows):
    """Return rows without the generations of consumers: an undo increases those of kept ones."""
    return {
        **rows,
        "consumers": [re.sub("'generation': .+?,", "", row) for row in rows["consumers"]],
    }


@pytest.fixture
def run(database_url, monkeypatch, capsys):
    """Return a function that runs ``placement-manage audit``: status, output and errors."""
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", database_url)

    def run(*arguments):
        status = manage.main(["audit", *map(str, arguments)])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


@pytest.fixture
def plan(tmp_path):
    return tmp_path / "plan"


def applied(run, path):
    """Apply a file; return how many actions were applied, applied already, and skipped."""
    status, printed, errors = run("--apply", path, "--json")
    assert status in (repair.COMPLETE, repair.SOME_SKIPPED), errors
    statuses = [each["status"] for each in json.loads(printed)["actions"]]
    assert (status == repair.SOME_SKIPPED) == ("skipped" in statuses)
    return tuple(statuses.count(name) for name in ("applied", "already", "skipped"))


@pytest.mark.parametrize("name", REPAIRED)
def test_each_kind_is_repaired_and_undone(store, run, plan, name):
    code, make = DEFECTS[name]
    Host(store)
    make(Host(store))
    before = image(store)
    assert run("--plan", plan, "--code", code)[0] == command.FOUND
    assert image(store) == before
    assert applied(run, plan) == (1, 0, 0)
    assert audit(store, AuditSettings()).findings == []
    if code not in ("unused_class", "unused_trait"):
        assert_sound(store)
    assert applied(run, f"{plan}.undo") == (1, 0, 0)
    kept = without_generations if code == "missing_provider" else dict
    assert kept(image(store)) == kept(before)
    assert applied(run, f"{plan}.undo") == (0, 1, 0)
    assert kept(image(store)) == kept(before)


@pytest.mark.parametrize("name", sorted(DEFECTS.keys() - set(REPAIRED)))
def test_what_needs_a_decision_is_left(store, run, plan, name):
    code, make = DEFECTS[name]
    make(Host(store))
    _, printed, _ = run("--plan", plan, "--code", code, "--stale-days", 1000)
    assert printed.startswith("0 actions planned")
    assert f"1 {code} need a decision" in printed
    assert len(plan.read_text().splitlines()) == 2


# --- live consumers ---------------------------------------------------------------------


@pytest.fixture
def live(store, tmp_path):
    """A file of live consumers, written after the consumers were: one that lists none yet."""
    path = tmp_path / "live"

    def write(*lines, text=None):
        path.write_text("".join(f"{each}\n" for each in lines) if text is None else text)
        return path

    return write


def age(store):
    """Make all consumers old."""
    old = datetime.now(UTC).replace(tzinfo=None, microsecond=0) - timedelta(days=2)

    def work(tx):
        tx.connection.execute(models.consumers.update().values(created_at=old, updated_at=None))

    store.write(work)


def instance(store, *hosts):
    """Return a consumer of the type INSTANCE with allocations on hosts."""
    made = uuid()
    claim(store, made, {host.uuid: {"VCPU": 2} for host in hosts}, type="INSTANCE")
    age(store)
    return made


def test_an_orphaned_consumer_is_removed_and_comes_back(store, run, plan, live):
    host = Host(store)
    alive, orphan = instance(store, host), instance(store, host)
    listed = live(alive)
    status, printed, _ = run("--live", listed, "--json")
    assert status == command.FOUND
    (finding,) = json.loads(printed)["findings"]
    assert (finding["code"], finding["rows"]["consumer"]) == ("orphaned_consumer", orphan)
    before = image(store)
    run("--live", listed, "--plan", plan)
    assert image(store) == before
    assert applied(run, plan) == (1, 0, 0)
    assert allocations_of(store, orphan) == {}
    assert allocations_of(store, alive) == {host.uuid: {"VCPU": 2}}
    assert_sound(store)
    assert run("--live", listed)[0] == command.CLEAN
    assert applied(run, plan) == (0, 1, 0)
    assert applied(run, f"{plan}.undo") == (1, 0, 0)
    assert image(store) == before
    assert_sound(store)


def test_only_the_other_host_of_an_instance_is_removed(store, run, plan, live):
    old, new, storage = Host(store), Host(store), Host(store)
    doubled = instance(store, old, new)
    before = image(store)
    assert run("--live", live(f"{doubled} {new.name}"), "--plan", plan)[0] == command.FOUND
    assert applied(run, plan) == (1, 0, 0)
    assert allocations_of(store, doubled) == {new.uuid: {"VCPU": 2}}
    assert_sound(store)
    assert applied(run, f"{plan}.undo") == (1, 0, 0)
    assert without_generations(image(store)) == without_generations(before)
    assert storage.name not in plan.read_text()
