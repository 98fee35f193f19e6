"""Intervals are measured by the monotonic clock: the time of day can jump."""

from placement.tests.unit.test_clocks_of_the_machine import users_of_the_time_of_day

# Modules that use the time of day, with the times that they need it for.
TIMES_OF_DAY = {
    "audit.live_consumers": "the end of the grace period, compared with columns",
    "audit.live_sources": "when a list was read, compared with columns",
    "audit.report": "when an audit began, for readers",
    "explain.explain": "when a request was explained, for readers",
    "audit.identity.sql": "the oldest conflicts, compared with columns",
    "queries": "parameters such as 'yesterday'",
    "explain.records.http": "the hours of a summary, compared with columns",
    "explain.records.recorder": "columns, and the oldest records to keep",
    "explain.records.reports": "when a request was recorded",
    "audit.repair.plan_file": "when a plan was written, for readers",
}


def test_modules_that_use_the_time_of_day_are_listed():
    names = {f"placement_insight.{name}" for name in TIMES_OF_DAY}
    assert users_of_the_time_of_day("placement_insight") == names
