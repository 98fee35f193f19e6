"""Repairs that are killed, raced, or that the disk or the database refuses."""

import errno
import json
import os
import random
import signal
import threading
import time
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from placement import exception
from placement.cmd import manage
from placement.db import clocks
from placement.db import store as store_module
from placement.db.errors import WriteConflict
from placement.objects import allocation
from placement.tests.support.defects import Host, missing_provider, wrong_root
from placement.tests.support.factories import (
    allocations_of,
    assert_sound,
    claim,
    set_inventories,
    uuid,
)
from placement.tests.support.waiting import wait_until
from placement_insight.audit import manage as command
from placement_insight.audit.model import AuditSettings
from placement_insight.audit.repair import manage as repair
from placement_insight.audit.repair.plan_file import Entry
from placement_insight.audit.report import audit
from placement_insight.tests.support.repairs import image, instance, without_generations

pytestmark = pytest.mark.long

# Of the hundred points of a repair, one of so many; `make stress` tries all, which takes minutes.
KILL_EVERY = int(os.environ.get("REPAIR_KILL_EVERY", "20"))


class Points:
    """Kills this process before the statement, commit or write of the undo file with a number."""

    def __init__(self, number):
        self.remaining = number

    def reach(self, *_arguments):
        if self.remaining == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.remaining -= 1

    def install(self):
        sa.event.listen(sa.Engine, "before_cursor_execute", self.reach)
        sa.event.listen(sa.Engine, "commit", self.reach)
        sync, write = os.fsync, repair.Journal.append

        def fsync(descriptor):
            self.reach()
            sync(descriptor)
            self.reach()

        def append(journal, content):
            if self.remaining == 0:  # half of the line reaches the disk
                journal._file.seek(journal._end)
                text = content.line()
                journal._file.write(text.encode()[: len(text) // 2])
                journal._file.flush()
            self.reach()
            write(journal, content)

        os.fsync = fsync
        repair.Journal.append = append


def killed_at(number, *arguments):
    """Run the command in a process of its own; return whether it was killed at the point."""
    child = os.fork()
    if child == 0:
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            Points(number).install()
            manage.main(["audit", *map(str, arguments)])
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def test_a_repair_killed_at_any_point_is_completed_by_the_next_run(
    store, run_audit, apply, plan, live
):
    """Also the undo, which is killed at the same number of points."""
    hosts = [Host(store) for _ in range(2)]
    doubled = instance(store, *hosts)
    instance(store, hosts[0])
    wrong_root(Host(store))
    missing_provider(hosts[0])
    hosts[0].inventory(used=99)
    before = without_generations(image(store))
    listed = live(f"{doubled} {hosts[1].name}")
    store.dispose()
    killed, number, is_killed = 0, random.randrange(KILL_EVERY), True
    while is_killed:
        undo = plan.with_name(f"plan-{number}.undo")
        run_audit("--live", listed, "--plan", plan)
        is_killed = killed_at(number, "--apply", plan, "--undo", undo)
        status, printed, _ = run_audit("--apply", plan, "--undo", undo, "--json")
        statuses = [each["status"] for each in json.loads(printed)["actions"]]
        assert (status, len(statuses), set(statuses) <= {"applied", "already"}) == (0, 5, True)
        assert audit(store, AuditSettings()).findings == []
        assert_sound(store)
        repaired = image(store)
        killed_at(number, "--apply", undo)
        _, _, skipped = apply(undo)
        assert skipped <= 2  # by the kills of the repair and of the undo
        assert sum(apply(undo, "--unconfirmed")[:2]) == 5
        assert without_generations(image(store)) == before
        assert repaired != before
        killed += is_killed
        number += KILL_EVERY
    assert number > 80
    print(f"survived {killed} kills")


def test_claims_during_a_repair_are_neither_lost_nor_doubled(
    store, *, other_store, run_audit, apply, plan, live
):
    """Half of the orphans are claimed for again while the plan is applied and undone."""
    host, other = Host(store), Host(store)
    for each in (host, other):
        set_inventories(store, each.uuid, VCPU=1_000_000)  # the claims must not fill it
    orphans = [instance(store, host, vcpus=1) for _ in range(30)]
    run_audit("--live", live(), "--allow-many-orphans", "--plan", plan)
    kept = {}
    stop = threading.Event()

    def work():
        for consumer in orphans[::2] * 3:
            target = other if consumer not in kept else host
            claim(other_store, consumer, {target.uuid: {"VCPU": 2}}, type="INSTANCE")
            kept[consumer] = target
        while not stop.is_set():
            claim(other_store, uuid(), {host.uuid: {"VCPU": 1}}, type="INSTANCE")

    thread = threading.Thread(target=work)
    thread.start()
    try:
        counts = apply(plan)
        undone = apply(f"{plan}.undo")
        wait_until(lambda: len(kept) >= 15)
    finally:
        stop.set()
        thread.join()
    assert sum(counts) == 30
    assert sum(undone) <= 30
    assert_sound(store)
    for consumer in orphans[1::2]:
        assert allocations_of(store, consumer) == {host.uuid: {"VCPU": 1}}
    for consumer, target in kept.items():
        assert allocations_of(store, consumer) == {target.uuid: {"VCPU": 2}}


def test_two_repairs_at_once_apply_each_action_once(store, database_url, plan, live, run_audit):
    host = Host(store)
    set_inventories(store, host.uuid, VCPU=1000)
    for _ in range(20):
        instance(store, host, vcpus=1)
    run_audit("--live", live(), "--allow-many-orphans", "--plan", plan)
    statuses = []

    def apply_with(name):
        statuses.append(manage.main(["audit", "--apply", str(plan), "--undo", f"{plan}.{name}"]))

    threads = [threading.Thread(target=apply_with, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) <= {0, 4}
    recorded = [
        json.loads(line)["action"]["consumer"]
        for name in "ab"
        for line in plan.with_name(f"plan.{name}").read_text().splitlines()[1:]
        if "in_effect" not in line
    ]
    assert sorted(recorded) == sorted(set(recorded))
    assert len(recorded) == 20
    assert_sound(store)


# --- files ------------------------------------------------------------------------------


@pytest.fixture
def planned(store, run_audit, plan, live):
    """A plan of two actions; return its orphans."""
    host = Host(store)
    orphans = [instance(store, host, vcpus=1) for _ in range(2)]
    assert run_audit("--live", live(), "--allow-many-orphans", "--plan", plan)[0] == 3
    return orphans


sqlite_only = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)


def refused(run_audit, store, *arguments):
    """Run the command, which changes nothing; return the sentence."""
    before = image(store)
    status, printed, errors = run_audit(*arguments)
    assert (status, printed) == (1, "")
    assert errors.startswith("placement-manage: ")
    assert "Traceback" not in errors
    assert image(store) == before
    return errors


@sqlite_only
def test_a_truncated_plan_is_refused(store, run_audit, planned, plan):
    text = plan.read_text()
    lines = text.splitlines(keepends=True)
    for cut in ("".join(lines[:-1]), "".join(lines[:2]), text[:-1], text[:-30], lines[0]):
        plan.write_text(cut)
        assert "truncated" in refused(run_audit, store, "--apply", plan)
    assert not plan.with_name("plan.undo").exists()


@sqlite_only
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Line 1 of the file is not JSON"),
        ("hello\n", "Line 1 of the file is not JSON"),
        ("[]\n", "Line 1 of the file is not a JSON object"),
        ('{"findings": []}\n', "is not a plan of repairs"),
        ('{"format": "placement-repair", "version": 2}\n', "version 2; this release reads"),
        (
            '{"format": "placement-repair", "version": 1}\n',
            "missing 3 required positional arguments: 'kind', 'database'",
        ),
    ],
)
def test_a_file_that_is_no_plan_is_refused(store, run_audit, plan, text, sentence):
    plan.write_text(text)
    assert sentence in refused(run_audit, store, "--apply", plan)


@sqlite_only
@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("remove_allocations", "remove_everything", "'remove_everything' is not an action"),
        (
            '"generation": 1',
            '"generation": "1"',
            "is not a value of remove_allocations.generation",
        ),
        ('"generation": 1, ', "", "has the fields"),
        ('"kind": "plan"', '"kind": "nonsense"', "not a plan"),
        ('"consumer": "', '"consumer": "\\ud800', "is not a value of remove_allocations.consumer"),
        (
            '"allocations": {"',
            '"allocations": {"\\ud800',
            "is not a value of remove_allocations.allocations",
        ),
    ],
)
def test_a_plan_with_an_invalid_action_is_refused_as_a_whole(
    store, *, run_audit, planned, plan, old, new, sentence
):
    lines = plan.read_text().splitlines(keepends=True)
    number = 0 if "kind" in old else 2
    assert old in lines[number]
    lines[number] = lines[number].replace(old, new)
    plan.write_text("".join(lines))
    assert sentence in refused(run_audit, store, "--apply", plan)


@sqlite_only
def test_bytes_that_are_not_text_are_refused(store, run_audit, plan):
    plan.write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in refused(run_audit, store, "--apply", plan)


@sqlite_only
def test_a_file_that_does_not_exist_is_named(store, run_audit, plan):
    assert str(plan) in refused(run_audit, store, "--apply", plan)
    assert str(plan) in refused(run_audit, store, "--live", plan)


def test_a_plan_of_another_database_is_refused(store, run_audit, apply, planned, plan):
    store.write(lambda tx: clocks.start_epoch(tx.connection))
    assert "it is another database" in refused(run_audit, store, "--apply", plan)
    assert run_audit("--apply", plan, "--any-epoch")[0] == 0
    assert run_audit("--apply", f"{plan}.undo", "--any-epoch")[0] == 0
    assert all(allocations_of(store, orphan) for orphan in planned)


@sqlite_only
def test_the_undo_file_of_another_plan_is_not_overwritten(store, run_audit, planned, plan):
    undo = plan.with_name("plan.undo")
    undo.write_text("notes of mine\n")
    assert "Line 1 of the file is not JSON" in refused(run_audit, store, "--apply", plan)
    undo.unlink()
    assert run_audit("--apply", plan)[0] == 0
    plan.write_text(plan.read_text().replace("orphaned_consumer", "another_reason"))
    assert "not the undo file of this plan" in refused(run_audit, store, "--apply", plan)


@sqlite_only
def test_an_undo_file_that_another_program_writes_to_is_refused(store, run_audit, planned, plan):
    header = repair.Header("undo", "1", "now", plan="digest")
    path = plan.with_name("plan.undo")
    with path.open("w+b") as undo:
        repair.Journal(undo, path, header)
        assert "Another program writes" in refused(run_audit, store, "--apply", plan)


@sqlite_only
def test_a_folder_that_cannot_be_written_to(store, run_audit, planned, plan, monkeypatch):
    open_ = os.open

    def denied(path, flags, *arguments, **keywords):
        if flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return open_(path, flags, *arguments, **keywords)

    monkeypatch.setattr(os, "open", denied)
    assert "Permission denied" in refused(run_audit, store, "--apply", plan)
    monkeypatch.undo()
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", store.settings.connection)
    missing = plan.parent / "missing" / "plan"
    assert "No such file" in refused(run_audit, store, "--plan", missing)


def test_a_full_disk_stops_the_repair_before_the_commit(
    store, *, run_audit, apply, planned, plan, monkeypatch
):
    undo = plan.with_name("plan.undo")
    sync, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 4:  # after the header, the folder, the first entry and its commit
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(repair.os, "fsync", full)
    status, _, errors = run_audit("--apply", plan)
    assert (status, "No space left on device" in errors) == (1, True)
    monkeypatch.setattr(repair.os, "fsync", sync)
    assert sum(bool(allocations_of(store, orphan)) for orphan in planned) == 1
    assert undo.read_text().endswith("\n")
    assert apply(plan) == (1, 1, 0)
    assert apply(undo) == (2, 0, 0)
    assert_sound(store)


def test_no_undo_restores_what_was_deleted_after_a_commit_failed(
    store, *, run_audit, apply, planned, plan, monkeypatch
):
    """The rows are then as after the action, which was recorded and then skipped."""
    first = json.loads(plan.read_text().splitlines()[1])["consumer"]
    write, refusals = store_module.Store.write, []

    def refused_once(self, work, *arguments):
        def attempt(tx):
            outcome = work(tx, *arguments)
            if not refusals:
                refusals.append("Galera reports a deadlock at the commit")
                raise WriteConflict
            return outcome

        return write(self, attempt)

    with monkeypatch.context() as patched:
        patched.setattr(store_module.Store, "write", refused_once)
        pause = SimpleNamespace(
            sleep=lambda _: allocation.delete(store, first), monotonic=time.monotonic
        )
        patched.setattr(store_module, "time", pause)
        assert apply(plan) == (1, 0, 1)
    assert apply(plan.with_name("plan.undo")) == (1, 0, 0)
    assert [each for each in planned if not allocations_of(store, each)] == [first]
    assert_sound(store)


class Stopped(BaseException):
    """The program ends here."""


def stop_before_the_line(in_effect, monkeypatch, run_audit, path):
    """Apply a file until it would write whether the first action is in effect."""
    append = repair.Journal.append

    def stop(journal, content):
        if isinstance(content, Entry) and content.in_effect is in_effect:
            raise Stopped
        append(journal, content)

    with monkeypatch.context() as patched:
        patched.setattr(repair.Journal, "append", stop)
        with pytest.raises(Stopped):
            run_audit("--apply", path)


def test_no_undo_restores_what_another_program_may_have_deleted(
    store, *, run_audit, apply, planned, plan, monkeypatch
):
    """The program was stopped at the commit, and nobody knows whether it was successful."""
    first = json.loads(plan.read_text().splitlines()[1])["consumer"]
    undo = plan.with_name("plan.undo")
    stop_before_the_line(True, monkeypatch, run_audit, plan)
    assert apply(plan) == (1, 1, 0)
    status, printed, _ = run_audit("--apply", undo)
    assert (status, "add --unconfirmed" in printed) == (repair.SOME_SKIPPED, True)
    assert [each for each in planned if not allocations_of(store, each)] == [first]
    assert apply(undo, "--unconfirmed") == (1, 1, 0)
    assert all(allocations_of(store, each) for each in planned)
    assert_sound(store)


def test_a_repeated_undo_does_not_restore_what_was_deleted_since(store, apply, planned, plan):
    undo = plan.with_name("plan.undo")
    assert apply(plan) == (2, 0, 0)
    assert apply(undo) == (2, 0, 0)
    allocation.delete(store, planned[0])
    assert apply(undo, "--unconfirmed") == (0, 2, 0)
    assert apply(plan) == (1, 0, 1)
    assert apply(undo) == (1, 1, 0)
    assert [each for each in planned if not allocations_of(store, each)] == planned[:1]
    assert_sound(store)


def test_an_undo_stopped_at_a_commit_does_not_restore_what_was_deleted_since(
    store, *, run_audit, apply, planned, plan, monkeypatch
):
    undo = plan.with_name("plan.undo")
    assert apply(plan) == (2, 0, 0)
    stop_before_the_line(False, monkeypatch, run_audit, undo)
    (restored,) = [each for each in planned if allocations_of(store, each)]
    allocation.delete(store, restored)
    assert apply(undo) == (1, 0, 1)
    assert [each for each in planned if not allocations_of(store, each)] == [restored]
    assert_sound(store)


def test_a_database_that_fails_in_the_middle(
    store, *, run_audit, apply, planned, plan, monkeypatch
):
    original, calls = allocation.Store.write, []

    def fail(self, work, *arguments, **keywords):
        calls.append(work)
        if len(calls) == 2:
            raise exception.DatabaseUnavailable("The server has gone away")
        return original(self, work, *arguments, **keywords)

    monkeypatch.setattr(allocation.Store, "write", fail)
    status, _, errors = run_audit("--apply", plan)
    assert (status, "The database is not available: The server has gone away" in errors) == (
        1,
        True,
    )
    monkeypatch.setattr(allocation.Store, "write", original)
    assert apply(plan) == (1, 1, 0)
    assert apply(f"{plan}.undo") == (2, 0, 0)


@pytest.mark.parametrize("backend", ["mariadb", "postgresql"], indirect=True)
def test_a_wrong_password_is_named(
    store, *, run_audit, planned, plan, server, backend, monkeypatch
):
    url = sa.make_url(server(backend).tcp_url(sa.make_url(store.settings.connection).database))
    wrong = url.set(username="nobody", password="wrong").render_as_string(hide_password=False)
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", wrong)
    for arguments in ([], ["--plan", plan], ["--apply", plan]):
        status, _, errors = run_audit(*arguments)
        assert (status, "Traceback" in errors) == (1, False)
        assert "database" in errors


def test_a_database_without_schema_is_named(empty_database_url, run_audit, plan, monkeypatch):
    plan.write_text(
        '{"format": "placement-repair", "version": 1, "kind": "plan", "database": "1", '
        '"created_at": ""}\n{"end": true}\n'
    )
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", empty_database_url)
    for arguments in ([], ["--plan", f"{plan}2"], ["--apply", plan]):
        status, _, errors = run_audit(*arguments)
        assert status == 1
        assert "placement-manage db sync" in errors


def test_a_plan_without_actions_is_applied_with_status_0(store, run_audit, apply, plan):
    Host(store)
    assert run_audit("--plan", plan)[:2] == (command.CLEAN, f"0 actions planned in {plan}\n")
    assert apply(plan) == (0, 0, 0)
