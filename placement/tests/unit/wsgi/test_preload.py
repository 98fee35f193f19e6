"""When a process loads the snapshot before it accepts requests."""

import sys
from types import SimpleNamespace

import pytest

from placement import exception
from placement.wsgi.preload import Preload, unless_forked_later


class Engine:
    """Counts loads, or raises an error instead."""

    def __init__(self, error=None):
        self.error = error
        self.loads = 0

    def current(self):
        self.loads += 1
        if self.error:
            raise self.error


def preload_of(engine):
    preload = Preload()
    preload.attach(engine)
    return preload


def test_it_is_loaded_at_once_outside_of_uwsgi():
    engine = Engine()
    unless_forked_later(preload_of(engine))
    assert engine.loads == 1


@pytest.fixture
def uwsgi(monkeypatch):
    """The module that uWSGI provides, in the process that imports the application and forks."""
    module = SimpleNamespace(worker_id=lambda: 0)
    monkeypatch.setitem(sys.modules, "uwsgi", module)
    return module


def test_it_is_loaded_at_once_in_a_worker_of_uwsgi(uwsgi):
    uwsgi.worker_id = lambda: 2
    engine = Engine()
    unless_forked_later(preload_of(engine))
    assert engine.loads == 1


def test_the_first_request_loads_it_if_uwsgi_forks_later(uwsgi):
    engine = Engine()
    unless_forked_later(preload_of(engine))
    assert engine.loads == 0


def test_a_worker_starts_without_database(caplog):
    preload_of(Engine(exception.DatabaseUnavailable("no connection")))()
    assert "The snapshot is loaded by the first request that needs it: " in caplog.text


def test_an_application_without_engine():
    Preload()()
