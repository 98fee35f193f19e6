"""Intervals are measured by the monotonic clock: the time of day can jump."""

import ast

from placement.tests.support.sources import modules_of, name_of, tree_of

# Modules that use the time of day, with the times that they need it for. None is the begin of an
# interval in one process.
TIMES_OF_DAY = {
    "db.clocks": "columns: created_at, updated_at",
    "engine.engine": "last_write_seen, for readers",
    "http.response": "the header Last-Modified",
    "objects.provider": "how long ago another process changed a provider, by its column",
}

# What returns the time of day without an argument
READINGS = {
    "time": {"time", "time_ns", "ctime", "localtime", "gmtime", "asctime", "strftime"},
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
    "utils": {"formatdate", "localtime"},
}
FUNCTIONS = READINGS["time"] | READINGS["utils"]


def times_of_day(tree):
    """Yield the functions for the time of day that a module uses, by any name of their modules."""
    modules = {"time": "time", "datetime": "datetime", "date": "date", "utils": "utils"}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                modules |= {each.asname: each.name for each in names if each.asname}
        match node:
            case ast.ImportFrom(module="time" | "email.utils", names=names):
                yield from FUNCTIONS & {each.name for each in names}
            case ast.Attribute(value=ast.Name(id=of), attr=name):
                if name in READINGS.get(modules.get(of, ""), ()):
                    yield name
            case ast.Attribute(value=ast.Attribute(attr=of), attr=name):
                if name in READINGS.get(of, ()):
                    yield name


def users_of_the_time_of_day(package):
    return {name_of(path) for path in modules_of(package) if any(times_of_day(tree_of(path)))}


def test_modules_that_use_the_time_of_day_are_listed():
    assert users_of_the_time_of_day("placement") == TIMES_OF_DAY.keys()


def test_uses_are_found():
    code = """
import datetime, email.utils, time
import time as clock
from datetime import datetime as moment
from email.utils import formatdate
from time import time_ns
time.monotonic(), time.perf_counter(), moment.fromisoformat("2026-01-01")
time.time(), clock.gmtime(), moment.now(), datetime.datetime.utcnow(), datetime.date.today()
email.utils.localtime()
"""
    expected = ["formatdate", "time_ns", "time", "gmtime", "now", "utcnow", "today", "localtime"]
    assert sorted(times_of_day(ast.parse(code))) == sorted(expected)
