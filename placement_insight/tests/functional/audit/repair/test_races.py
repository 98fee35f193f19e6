"""Plans and undo files, after others have created again what they concern."""

import io
import json
import os
import sys
import time

import pytest

from placement.cmd import manage
from placement.core.model import UpdateProvider
from placement.objects import allocation, provider
from placement.tests.support.defects import Host
from placement.tests.support.factories import (
    allocations_of,
    assert_sound,
    claim,
    new_provider,
    uuid,
)
from placement_insight.audit import manage as command
from placement_insight.tests.support.repairs import by_nova, image, instance


def test_a_consumer_that_was_created_again_is_not_the_one_of_the_plan(
    store, run_audit, apply, plan, live
):
    """It has the same generation and allocations, as those of a server that was unshelved."""
    host = Host(store)
    orphan, alive = instance(store, host), instance(store, host)
    run_audit("--live", live(alive), "--plan", plan)
    allocation.delete(store, orphan)
    claim(store, orphan, {host.uuid: {"VCPU": 2}}, type="INSTANCE")
    assert apply(plan) == (0, 0, 1)
    assert allocations_of(store, orphan) == {host.uuid: {"VCPU": 2}}
    assert_sound(store)


def test_the_undo_of_a_renaming_is_skipped_if_the_name_was_taken(store, run, plan, apply):
    old = new_provider(store, "cn1", VCPU=8)
    claim(store, uuid(), {old: {"VCPU": 1}})
    before = image(store)
    undo = plan.with_name("plan.undo")
    assert run("identity", "cn1", "--plan", plan, "--rename", old, "cn1-before") == 0
    assert apply(plan) == (1, 0, 0)
    assert apply(undo) == (1, 0, 0)
    assert unstamped(image(store)) == unstamped(before)
    assert apply(undo) == (0, 1, 0)
    assert apply(plan) == (1, 0, 0)
    now = new_provider(store, "cn1", VCPU=8)
    assert apply(undo) == (0, 0, 1)
    assert (provider.show(store, old).name, provider.show(store, now).name) == (
        "cn1-before",
        "cn1",
    )
    assert_sound(store)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_an_undo_of_a_renaming_names_the_newest_change(store, run, run_audit, apply, plan):
    host = new_provider(store, "cn1", VCPU=8)
    assert run("identity", "cn1", "--plan", plan, "--rename", host, "cn1-before") == 0
    assert apply(plan) == (1, 0, 0)
    by_nova(store, provider.update, UpdateProvider(host, "cn2", None, has_parent=False))
    by_nova(store, provider.update, UpdateProvider(host, "cn3", None, has_parent=False))
    _, printed, _ = run_audit("--apply", f"{plan}.undo")
    assert "have changed since the action: cn3: renamed from cn2 at " in printed


@pytest.mark.parametrize("taken", ["nothing", "name", "uuid", "both"])
def test_the_undo_of_a_retirement(store, run, plan, apply, taken):
    """It is skipped if the name or UUID of the provider was taken."""
    old = new_provider(store, "cn1.example.org", VCPU=8)
    leaf = new_provider(store, "leaf", old, VGPU=1)
    before = image(store)
    undo = plan.with_name("plan.undo")
    assert run("identity", "cn1", "--plan", plan, "--retire", old) == 0
    assert apply(plan) == (2, 0, 0)
    if taken == "nothing":
        assert apply(undo) == (2, 0, 0)
        assert unstamped(image(store)) == unstamped(before)
        assert apply(undo) == (0, 2, 0)
    else:
        name = "other" if taken == "uuid" else "cn1.example.org"
        now = old if taken in ("uuid", "both") else uuid()
        if now == old:
            new_provider(store, "filler")  # SQLite would give the id of the old one again
        provider.create(store, now, name, None)
        after = image(store)
        assert apply(undo) == (0, 0, 2)
        assert image(store) == after
        with pytest.raises(Exception, match=leaf):
            provider.show(store, leaf)
    assert_sound(store)


def unstamped(rows):
    """Return rows without those of clocks: generations of providers only increase."""
    return {
        name: [each.partition("'updated_at'")[0] for each in own] for name, own in rows.items()
    }


def test_an_undo_on_a_provider_that_was_created_again_is_skipped(
    store, run_audit, apply, plan, live
):
    host = Host(store)
    allocation.delete(store, host.consumer)
    orphan = instance(store, host)
    run_audit("--live", live(), "--allow-many-orphans", "--plan", plan)
    assert apply(plan) == (1, 0, 0)
    provider.delete(store, host.uuid)
    assert apply(f"{plan}.undo") == (0, 0, 1)
    provider.create(store, host.uuid, host.name, None)
    assert apply(f"{plan}.undo") == (0, 0, 1)
    assert allocations_of(store, orphan) == {}
    assert_sound(store)


def test_two_plans_that_overlap_remove_each_claim_once(store, run_audit, apply, tmp_path, live):
    host = Host(store)
    orphans = [instance(store, host, vcpus=1) for _ in range(3)]
    one, other = tmp_path / "one", tmp_path / "other"
    for path in (one, other):
        run_audit("--live", live(), "--allow-many-orphans", "--plan", path)
    lines = one.read_text().splitlines(keepends=True)
    one.write_text("".join(line for line in lines if orphans[0] not in line))
    assert apply(one) == (2, 0, 0)
    assert apply(other) == (1, 0, 2)
    assert_sound(store)
    assert apply(f"{other}.undo") == (1, 0, 0)
    assert apply(f"{one}.undo") == (2, 0, 0)
    assert all(allocations_of(store, each) == {host.uuid: {"VCPU": 1}} for each in orphans)
    assert_sound(store)


@pytest.fixture
def run(database_url, monkeypatch, capsys):
    """Return a function that runs ``placement-manage`` and returns the status."""
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", database_url)

    def run(*arguments):
        status = manage.main([str(each) for each in arguments])
        capsys.readouterr()
        return status

    return run


# --- standard input -----------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_list_is_read_from_standard_input(store, run_audit, monkeypatch):
    host = Host(store)
    alive, orphan = instance(store, host), instance(store, host)
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{alive} {host.name}\n"))
    status, printed, _ = run_audit("--live", "-", "--json")
    (finding,) = json.loads(printed)["findings"]
    assert (status, finding["rows"]["consumer"]) == (command.FOUND, orphan)
    for text, sentence in (("", "is empty"), ("vm-1\n", "Line 1")):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        status, printed, errors = run_audit("--live", "-", "--json")
        assert (status, printed, sentence in errors) == (1, "", True), errors


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_file_as_standard_input_has_the_age_of_the_file(store, run_audit, monkeypatch, tmp_path):
    """Consumers that were written after it are not orphans."""
    host = Host(store)
    alive = instance(store, host)
    instance(store, host)
    path = tmp_path / "servers"
    path.write_text(f"{alive}\n")
    old = time.time() - 7 * 86400
    os.utime(path, (old, old))
    with path.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert run_audit("--live", "-")[0] == command.CLEAN


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_standard_input_that_is_not_text_is_refused(store, run_audit, monkeypatch):
    instance(store, Host(store))
    for data in (b"\xff\xfe\x00", b"\xe9\n"):
        text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", text)
        status, printed, errors = run_audit("--live", "-", "--json")
        assert (status, printed) == (1, ""), errors
        assert "Traceback" not in errors
