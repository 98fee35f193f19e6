"""Lists of live consumers as text."""

import os
import sys
import time
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from placement_insight.audit import live_sources
from placement_insight.audit.live_sources import parse
from placement_insight.audit.model import InvalidList
from placement_insight.audit.nova import current_places

AT = datetime(2026, 11, 22)
ONE = "5e08ea53-c4c6-448e-9334-ac4953de3cf1"
TWO = "5e08ea53-c4c6-448e-9334-ac4953de3cf2"


def hosts(*lines):
    """Return the hosts by UUID, None if the line has none."""
    places = parse(lines, listed_at=AT, types=frozenset({"INSTANCE"})).places
    return {uuid: getattr(place, "host", None) for uuid, place in places.items()}


@pytest.mark.parametrize(
    "lines",
    [
        [ONE, TWO],
        [f"{ONE}\r\n", f"{TWO}\r\n"],
        [f"\ufeff{ONE}", "", "# servers", f"  {TWO}  "],
        [ONE.upper(), TWO.replace("-", "")],
        [ONE, TWO, ONE],
        [f'"{ONE}",""', f'"{TWO}","None"'],
    ],
)
def test_lists_with_the_same_consumers(lines):
    assert hosts(*lines) == {ONE: None, TWO: None}


@pytest.mark.parametrize("line", [f"{ONE} cn1", f"{ONE}\tcn1", f"{ONE},cn1", f'"{ONE}","cn1"\r\n'])
def test_a_line_can_name_the_host(line):
    assert hosts(line, TWO) == {ONE: "cn1", TWO: None}
    assert hosts(line, ONE) == {ONE: "cn1"}


@pytest.mark.parametrize("line", ["vm-1", "ID Name", "+----+", "[", "None", ONE[:-1], "\0"])
def test_a_line_without_uuid_makes_the_whole_list_useless(line):
    with pytest.raises(InvalidList, match=r"Line 2 has .* where a UUID is expected"):
        hosts(ONE, line)


def test_an_instance_on_two_hosts_is_no_list():
    with pytest.raises(InvalidList, match="is also on cn1, line 2 has cn2"):
        hosts(f"{ONE} cn1", f"{ONE} cn2")


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_a_list_may_be_empty(tmp_path, text):
    """It is refused if it would make orphans: see ``live_consumers``."""
    path = tmp_path / "live"
    path.write_text(text)
    assert live_sources.read(str(path), (), lambda: None).places == {}


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "live"
    path.write_bytes(b"\xff\xfe5\x00e\x00")
    with pytest.raises(InvalidList, match="not UTF-8"):
        live_sources.read(str(path), (), lambda: None)


def listed_at(path):
    return live_sources.read(str(path), (), lambda: None).listed_at


@pytest.fixture
def new_york():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


def test_a_file_is_as_old_as_its_last_change(tmp_path, new_york):
    path = tmp_path / "live"
    path.write_text(ONE)
    os.utime(path, (0, 0))
    assert listed_at(path) == datetime(1970, 1, 1)


def test_a_file_from_the_future_was_listed_now(tmp_path):
    path = tmp_path / "live"
    path.write_text(ONE)
    os.utime(path, (2**32, 2**32))
    assert listed_at(path) <= datetime.now(UTC).replace(tzinfo=None)


def test_a_pipe_was_listed_now(monkeypatch):
    reader, writer = os.pipe()
    os.close(writer)
    os.utime(reader, (0, 0))
    with open(reader) as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        assert listed_at(live_sources.STDIN) > datetime(2000, 1, 1)


class Compute:
    """Returns the same response to each request for a server."""

    def __init__(self):
        self.arguments = []

    def get(self, path, **arguments):
        self.arguments.append(arguments)
        return SimpleNamespace(status_code=404, json=lambda: {"itemNotFound": {}})


def test_a_confirmation_is_not_read_from_a_cache():
    compute = Compute()
    assert current_places(SimpleNamespace(compute=compute), [ONE, TWO]) == {}
    assert [each["skip_cache"] for each in compute.arguments] == [True, True]
