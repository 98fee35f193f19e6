"""Measures, and the responses that they reject. Nothing here depends on time."""

import random

import pytest

from bench.harness import PLACEMENT, UPSTREAM
from bench.measures import Concurrent, Timed
from bench.mixed_load import Mixed, Stream
from bench.report import cells, describe, notes
from bench.responses import WrongResponse
from bench.workloads import claim, get, schedule, swap
from placement_insight.tests.bench.fakes import (
    ALL_SAMPLES,
    HOSTS,
    harness,
    loaded_world,
    loses_claims,
    offers,
    refuses_claims,
    response,
    times_out,
)

CLAIM = Timed(claim("host"))
REQUEST = get("/allocation_candidates?resources=VCPU:1")


def audited(measure, harness_):
    return harness_.audited(measure.measure(harness_))


@pytest.mark.parametrize(
    "measure", [CLAIM, Timed(swap("host")), Concurrent(claim("host"), clients=2)]
)
def test_stored_claims_are_accepted(measure):
    measurements = audited(measure, harness(world=loaded_world(used={"VCPU": 3}, consumers=2)))
    assert not notes(measurements)
    assert all(measurement.samples for measurement in measurements.values())


@pytest.mark.parametrize(
    "measure", [CLAIM, Timed(swap("host")), Concurrent(claim("host"), clients=2)]
)
def test_a_lost_claim_of_placement_is_an_error(measure):
    with pytest.raises(
        WrongResponse, match=r"placement: usage of the project: DISK_GB \d+ too few"
    ):
        audited(measure, harness(placement=loses_claims))


def test_a_claim_lost_by_openstack_placement_is_noted_once():
    harness_ = harness(upstream=loses_claims, budget=ALL_SAMPLES)
    assert "VCPU 6 too few" in audited(CLAIM, harness_)[UPSTREAM].note
    harness_.services[UPSTREAM].override = lambda method, path: None
    assert not audited(CLAIM, harness_)[UPSTREAM].note


def test_a_claim_stored_twice_is_an_error():
    harness_ = harness()
    measurements = CLAIM.measure(harness_)
    stored = harness_.services[PLACEMENT].allocations
    stored["again"] = next(iter(stored.values()))
    with pytest.raises(WrongResponse, match="VCPU 1 too many"):
        harness_.audited(measurements)


def test_a_wrong_usage_of_one_provider_is_an_error():
    def reports_no_usage(method, path):
        return response({"usages": {"VCPU": 0}}) if path.startswith("/resource_prov") else None

    with pytest.raises(WrongResponse, match="usage of provider"):
        audited(CLAIM, harness(placement=reports_no_usage))


def test_a_claim_without_a_response_may_be_stored_or_not():
    harness_ = harness()
    operation = claim("host")(harness_.loaded_world, random.Random(0))
    harness_.services[PLACEMENT].override = times_out
    with pytest.raises(TimeoutError):
        operation(harness_.connect(PLACEMENT))
    harness_.services[PLACEMENT].override = lambda method, path: None
    assert harness_.audits[PLACEMENT].discrepancy(harness_.connect(PLACEMENT)) == ""


def test_a_usage_that_openstack_placement_does_not_report_is_noted():
    def refuses_reads(method, path):
        return response({}, status=500) if method == "GET" else None

    note = audited(CLAIM, harness(upstream=refuses_reads))[UPSTREAM].note
    assert note.startswith("the stored usage is not known: GET /usages")


def test_a_refused_claim_of_placement_is_an_error():
    for measure in (CLAIM, Concurrent(claim("host"), clients=2)):
        with pytest.raises(WrongResponse, match=r"placement answered \d+ times 409"):
            measure.measure(harness(placement=refuses_claims))


def test_a_claim_refused_by_openstack_placement_is_noted():
    measurements = CLAIM.measure(harness(upstream=refuses_claims, budget=ALL_SAMPLES))
    assert measurements[UPSTREAM].note == "6 times 409"


def test_the_scheduling_loop_claims_a_candidate():
    harness_ = harness(placement=offers(HOSTS[1]), upstream=offers(HOSTS[0]))
    audited(Concurrent(schedule("/allocation_candidates"), clients=2), harness_)
    claimed = {
        name: {uuid for body in service.allocations.values() for uuid in body["allocations"]}
        for name, service in harness_.services.items()
    }
    assert claimed == {PLACEMENT: {HOSTS[1]}, UPSTREAM: {HOSTS[0]}}


def test_a_scheduling_loop_without_candidates_is_an_error():
    with pytest.raises(WrongResponse, match="times 0"):
        Concurrent(schedule("/allocation_candidates"), clients=2).measure(
            harness(placement=offers(), upstream=offers(HOSTS[0]))
        )


def test_a_timeout_of_openstack_placement_is_a_lower_bound():
    measurements = Timed(REQUEST).measure(harness(placement=offers(HOSTS[0]), upstream=times_out))
    assert measurements[UPSTREAM].cut_off
    assert describe(measurements[UPSTREAM]).startswith("> ")
    assert cells(measurements)[4].startswith("> ")
    assert notes(measurements) == "openstack-placement: cut off"


def test_a_timeout_of_placement_is_an_error():
    with pytest.raises(WrongResponse, match="placement: cut off"):
        Timed(REQUEST).measure(harness(placement=times_out, upstream=offers(HOSTS[0])))


def test_other_candidates_than_those_of_openstack_placement_are_an_error():
    harness_ = harness(placement=offers(HOSTS[0]), upstream=offers(*HOSTS))
    with pytest.raises(WrongResponse):
        Timed(REQUEST).measure(harness_)


def test_a_measurement_has_the_length_of_the_body():
    measurements = Timed(REQUEST).measure(
        harness(placement=offers(*HOSTS), upstream=offers(*HOSTS))
    )
    assert measurements[PLACEMENT].bytes == len(
        offers(*HOSTS)("GET", "/allocation_candidates").body
    )


# --- two streams at steady rates ---------------------------------------------------------


def mixed():
    rates = {PLACEMENT: 40, UPSTREAM: 20}
    return Mixed(Stream(REQUEST, rates), Stream(claim("host"), rates))


def test_streams_of_requests_run_beside_each_other():
    services = harness()
    measurements = audited(mixed(), services)
    assert {name: one.samples for name, one in measurements.items()} == {PLACEMENT: 5, UPSTREAM: 3}
    assert measurements[PLACEMENT].note == "40 and 40 a second"
    assert len(services.services[PLACEMENT].allocations) == 6  # the first one warms the workers


def test_a_failure_of_either_stream_is_wrong():
    with pytest.raises(WrongResponse, match="6 failures, such as 409"):
        mixed().measure(harness(refuses_claims))
