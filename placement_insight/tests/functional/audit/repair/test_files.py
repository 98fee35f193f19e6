"""Plans and undo files in a folder that other users can write to, such as /tmp."""

import os
import stat

import pytest

from placement.tests.support.defects import DEFECTS, Host
from placement_insight.audit import manage as command

LINK = "This is a symbolic link; name the file itself."
FOREIGN = "Another user owns or can write this file."
NOBODY = 65534


@pytest.fixture
def backend():
    return "sqlite"


@pytest.fixture
def planned(store, run_audit, plan):
    """A plan of one action."""
    code, make = DEFECTS["usage_counter"]
    make(Host(store))
    assert run_audit("--plan", plan, "--code", code)[0] == command.FOUND
    return plan


def test_plan_and_undo_file_are_private(planned, apply):
    assert apply(planned) == (1, 0, 0)
    files = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in planned.parent.glob("*plan*")
    }
    assert files == {"plan": 0o600, "plan.undo": 0o600}


def test_a_draft_is_not_written_through_a_link(store, run_audit, plan, tmp_path):
    """Names that other users can predict would let them choose the file that root overwrites."""
    victim = tmp_path / "victim"
    victim.write_text("kept")
    plan.with_name(f".plan.{os.getpid()}").symlink_to(victim)
    code, make = DEFECTS["usage_counter"]
    make(Host(store))
    assert run_audit("--plan", plan, "--code", code)[0] == command.FOUND
    assert victim.read_text() == "kept"


def test_a_plan_replaces_a_link(store, run_audit, plan, tmp_path):
    plan.symlink_to(tmp_path / "victim")
    code, make = DEFECTS["usage_counter"]
    make(Host(store))
    assert run_audit("--plan", plan, "--code", code)[0] == command.FOUND
    assert not plan.is_symlink()
    assert not (tmp_path / "victim").exists()


def test_a_link_to_a_plan_is_refused(planned, run_audit):
    link = planned.with_name("link")
    link.symlink_to(planned)
    assert run_audit("--apply", link)[::2] == (1, f"placement-manage: {link}: {LINK}\n")


def test_a_link_in_place_of_the_undo_file_is_refused(planned, apply, run_audit):
    undo = planned.with_name("plan.undo")
    undo.symlink_to(planned.with_name("nothing"))
    assert run_audit("--apply", planned)[::2] == (1, f"placement-manage: {undo}: {LINK}\n")
    assert not planned.with_name("nothing").exists()
    undo.unlink()
    assert apply(planned) == (1, 0, 0)


@pytest.mark.parametrize("kind", ["plan", "plan.undo"])
@pytest.mark.parametrize("change", ["owner", "mode"])
def test_a_file_that_another_user_can_change_is_refused(planned, apply, run_audit, kind, change):
    assert apply(planned) == (1, 0, 0)
    path = planned.with_name(kind)
    if change == "mode":
        path.chmod(0o666)
    elif os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    else:
        pytest.skip("NOT TESTED: only root can give a file away")
    status, _, errors = run_audit("--apply", path)
    assert (status, FOREIGN in errors) == (1, True)
