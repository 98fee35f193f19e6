"""Plans and undo files in a folder that other users can write to, such as /tmp."""

import os
import stat

import pytest

from placement.tests.support.defects import DEFECTS, Host
from placement_insight.audit import manage as command

LINK = "This is a symbolic link; name the file itself."
FOREIGN = "Another user owns this file. Read a copy of your own, then use the copy."
WRITABLE = "Other users can write this file (mode {:o}). Run `chmod go-w`, and check its lines."
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
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o664, 0o666])
def test_a_file_that_others_can_write_is_refused(planned, apply, run_audit, kind, mode):
    assert apply(planned) == (1, 0, 0)
    path = planned.with_name(kind)
    path.chmod(mode)
    expected = f"placement-manage: {path}: {WRITABLE.format(mode)}\n"
    assert run_audit("--apply", path)[::2] == (1, expected)
    path.chmod(0o644)
    assert run_audit("--apply", path)[0] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can give a file away")
@pytest.mark.parametrize("kind", ["plan", "plan.undo"])
def test_a_file_of_another_user_is_refused(planned, apply, run_audit, kind):
    assert apply(planned) == (1, 0, 0)
    path = planned.with_name(kind)
    os.chown(path, NOBODY, NOBODY)
    assert run_audit("--apply", path)[::2] == (1, f"placement-manage: {path}: {FOREIGN}\n")


def test_a_pipe_in_place_of_a_file_is_refused_at_once(planned, run_audit):
    pipe = planned.with_name("pipe")
    os.mkfifo(pipe)
    for arguments in (("--apply", pipe), ("--apply", planned, "--undo", pipe)):
        status, _, error = run_audit(*arguments)
        assert (status, f"{pipe}: This is not a regular file" in error) == (1, True)


def test_an_undo_file_that_is_not_text_is_kept(planned, run_audit):
    undo = planned.with_name("plan.undo")
    undo.write_bytes(b"\xff\n")
    undo.chmod(0o600)
    assert f"{undo} is not an undo file: it is not UTF-8." in run_audit("--apply", planned)[2]
    assert undo.read_bytes() == b"\xff\n"
