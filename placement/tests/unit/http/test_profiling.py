import sys
from typing import ClassVar

import pytest
from osprofiler import _utils
from osprofiler.drivers import base

from placement.tests.support.stub_service import ADMIN, service


def test_each_request_leaves_a_profile_in_the_folder_that_is_asked_for(
    monkeypatch, tmp_path, capfd
):
    monkeypatch.setenv("OS_WSGI_PROFILER", str(tmp_path))
    http = service()
    http.get("/", status=200)
    http.get("/things/1", headers=ADMIN, status=200)
    assert len(list(tmp_path.iterdir())) == 2
    assert capfd.readouterr() == ("", "")


def test_the_profiler_must_be_there_if_it_is_asked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("OS_WSGI_PROFILER", str(tmp_path))
    monkeypatch.setitem(sys.modules, "werkzeug.middleware", None)
    with pytest.raises(ImportError):
        service()


class Memory(base.Driver):
    """Where the test's traces go."""

    notifications: ClassVar = []
    project = service = None

    def __init__(self, *args, project=None, service=None, **kwargs):
        super().__init__(*args, project=project, service=service, **kwargs)
        Memory.project, Memory.service = project, service

    @classmethod
    def get_name(cls):
        return "memory"

    def notify(self, info, **kwargs):
        self.notifications.append(info)


def test_traces_are_sent_where_the_configuration_says():
    http = service(profiler__enabled=True, profiler__connection_string="memory://")
    http.get("/things/1", headers=ADMIN, status=200)
    assert Memory.notifications == []
    packed, signature = _utils.signed_pack({"base_id": "1", "parent_id": "2"}, "SECRET_KEY")
    headers = {"X-Trace-Info": packed.decode(), "X-Trace-HMAC": signature}
    http.get("/things/1", headers=ADMIN | headers, status=200)
    assert [trace["name"] for trace in Memory.notifications] == ["wsgi-start", "wsgi-stop"]
    assert {Memory.project, Memory.service} == {"placement"}


def test_without_osprofiler_there_are_no_traces(monkeypatch):
    monkeypatch.setitem(sys.modules, "osprofiler", None)
    service().get("/", status=200)


@pytest.mark.parametrize(
    ("connection", "reason"),
    [
        ("nosuch://user:secret@host", "The driver nosuch .*: Driver not found for"),
        ("mysql+pymysql://user:secret@127.0.0.1:1/x", r"The driver mysql\+pymysql .* nothing\."),
        ("jaeger://host", "no longer supported. Choose another driver, or set"),
    ],
)
def test_a_driver_that_cannot_work_is_an_error_at_start(connection, reason):
    with pytest.raises(RuntimeError, match=reason) as raised:
        service(profiler__enabled=True, profiler__connection_string=connection)
    assert "secret" not in str(raised.value)
