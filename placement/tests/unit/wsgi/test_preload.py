"""When a process loads the snapshot before it accepts requests."""

import sys
from types import SimpleNamespace

import pytest

from placement import exception, wsgi


class Engine:
    """Counts loads, or raises an error instead."""

    def __init__(self, error=None):
        self.error = error
        self.loads = 0

    def current(self):
        self.loads += 1
        if self.error:
            raise self.error


@pytest.fixture
def engine(monkeypatch):
    """The engine of the application that a server imports."""
    engine = Engine()
    monkeypatch.setattr(wsgi, "read_configuration", lambda files: None)
    monkeypatch.setattr(wsgi, "load", lambda conf: (None, engine))
    return engine


def test_it_is_loaded_at_once_outside_of_uwsgi(engine):
    wsgi.init_application()
    assert engine.loads == 1


@pytest.fixture
def uwsgi(monkeypatch):
    """The module that uWSGI provides, in the process that imports the application and forks."""
    module = SimpleNamespace(worker_id=lambda: 0)
    monkeypatch.setitem(sys.modules, "uwsgi", module)
    return module


def test_it_is_loaded_at_once_in_a_worker_of_uwsgi(uwsgi, engine):
    uwsgi.worker_id = lambda: 2
    wsgi.init_application()
    assert engine.loads == 1


def test_the_first_request_loads_it_if_uwsgi_forks_later(uwsgi, engine):
    wsgi.init_application()
    assert engine.loads == 0


def test_a_worker_starts_without_database(caplog):
    wsgi.preload(Engine(exception.DatabaseUnavailable("no connection")))
    assert "The snapshot is loaded by the first request that needs it: " in caplog.text
