"""The metric of survival is computed by a thread, once per interval; no scrape waits for it."""

import threading

import prometheus_client
import prometheus_client.core
import pytest

from placement import deploy
from placement.engine.engine import Engine
from placement.engine.shared import ShortRequests
from placement.tests.support.factories import claim, new_provider
from placement.tests.support.factories import uuid as new_uuid
from placement.tests.support.waiting import wait_until
from placement_insight.plan.gauge import SurvivalGauge, survival_counts

FIRST = b'placement_survival_domains{verdict="fits"} 1.0'


@pytest.fixture
def backend():
    """The statement is tested on each database with the route."""
    return "sqlite"


def test_hosts_are_counted_by_verdict(store):
    first, _, _ = (new_provider(store, VCPU=number) for number in (8, 2, 2))
    claim(store, new_uuid(), {first: {"VCPU": 3}})
    counts = survival_counts(store, Engine(store), "root", 60, ShortRequests())
    assert counts == {"fits": 2, "does_not_fit": 1, "undetermined": 0}
    late = survival_counts(store, Engine(store), "root", -1, ShortRequests())
    assert late == {"fits": 0, "does_not_fit": 0, "undetermined": 3}


def test_a_scrape_does_not_wait_and_the_interval_is_kept():
    begun, release, calls = threading.Event(), threading.Event(), []

    def compute():
        calls.append(1)
        begun.set()
        release.wait(60)
        return {"fits": len(calls)}

    gauge = SurvivalGauge(prometheus_client, 3600, compute)
    assert gauge.text() == b""
    assert begun.wait(60)
    assert gauge.text() == b""
    release.set()
    wait_until(lambda: FIRST in gauge.text())
    assert gauge.text() == gauge.text()
    assert len(calls) == 1


def test_a_failure_is_logged_and_repeated(caplog):
    results = iter([OSError("no database"), {"fits": 1}])

    def compute():
        result = next(results)
        if isinstance(result, Exception):
            raise result
        return result

    gauge = SurvivalGauge(prometheus_client, 0, compute)
    wait_until(lambda: FIRST in gauge.text())
    assert "could not be computed" in caplog.text


def test_an_option_enables_it(conf, application):
    services = deploy.services(conf)
    assert deploy.survival_text(conf, prometheus_client, services)() == b""
    conf.set_override("survival_interval_minutes", 5, "metrics")
    new_provider(services.store, VCPU=8)
    text = deploy.survival_text(conf, prometheus_client, services)
    wait_until(lambda: FIRST in text())
