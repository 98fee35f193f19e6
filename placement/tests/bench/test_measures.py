"""Measuring, and what makes a row wrong: nothing here is timed."""

import random

import pytest

from bench.answers import WrongAnswer
from bench.harness import OURS, REFERENCE
from bench.measures import Crowd, Timed
from bench.report import cells, describe, notes
from bench.workloads import claim, get, schedule, swap
from placement.tests.bench.fakes import (
    HOSTS,
    answer,
    hangs,
    loses_claims,
    offers,
    place,
    refuses_claims,
    stage,
)

CLAIM = Timed(claim("host"))
QUESTION = get("/allocation_candidates?resources=VCPU:1")


def audited(measure, where):
    return where.audited(measure.measure(where))


@pytest.mark.parametrize("measure", [CLAIM, Timed(swap("host")), Crowd(claim("host"), clients=2)])
def test_claims_that_are_kept_are_right(measure):
    figures = audited(measure, stage(at=place(used={"VCPU": 3}, consumers=2)))
    assert not notes(figures)
    assert all(figure.samples for figure in figures.values())


@pytest.mark.parametrize("measure", [CLAIM, Timed(swap("host")), Crowd(claim("host"), clients=2)])
def test_a_lost_claim_of_ours_is_a_wrong_answer(measure):
    with pytest.raises(WrongAnswer, match=r"ours: usage of the project: DISK_GB \d+ too few"):
        audited(measure, stage(ours=loses_claims))


def test_a_claim_that_the_reference_lost_is_noted_once():
    where = stage(reference=loses_claims)
    assert "VCPU 6 too few" in audited(CLAIM, where)[REFERENCE].note
    where.services[REFERENCE].act = lambda method, path: None
    assert not audited(CLAIM, where)[REFERENCE].note


def test_a_claim_that_was_stored_twice_is_a_wrong_answer():
    where = stage()
    figures = CLAIM.measure(where)
    held = where.services[OURS].held
    held["again"] = next(iter(held.values()))
    with pytest.raises(WrongAnswer, match="VCPU 1 too many"):
        where.audited(figures)


def test_a_usage_that_only_one_provider_tells_wrong_is_a_wrong_answer():
    def forgets(method, path):
        return answer({"usages": {"VCPU": 0}}) if path.startswith("/resource_prov") else None

    with pytest.raises(WrongAnswer, match="usage of provider"):
        audited(CLAIM, stage(ours=forgets))


def test_a_claim_without_an_answer_may_be_stored_or_not():
    where = stage()
    step = claim("host")(where.place, random.Random(0))
    where.services[OURS].act = hangs
    with pytest.raises(TimeoutError):
        step(where.connect(OURS))
    where.services[OURS].act = lambda method, path: None
    assert where.books[OURS].mistake(where.connect(OURS)) == ""


def test_a_usage_that_the_reference_does_not_tell_is_noted():
    def refuses_questions(method, path):
        return answer({}, status=500) if method == "GET" else None

    note = audited(CLAIM, stage(reference=refuses_questions))[REFERENCE].note
    assert note.startswith("what is stored is not known: GET /usages")


def test_a_refused_claim_of_ours_is_a_wrong_answer():
    for measure in (CLAIM, Crowd(claim("host"), clients=2)):
        with pytest.raises(WrongAnswer, match=r"ours answered \d+ times 409"):
            measure.measure(stage(ours=refuses_claims))


def test_a_claim_that_the_reference_refused_is_noted():
    figures = CLAIM.measure(stage(reference=refuses_claims))
    assert figures[REFERENCE].note == "6 times 409"


def test_the_schedulers_loop_claims_what_it_is_offered():
    where = stage(ours=offers(HOSTS[1]), reference=offers(HOSTS[0]))
    audited(Crowd(schedule("/allocation_candidates"), clients=2), where)
    taken = {
        name: {uuid for held in service.held.values() for uuid in held["allocations"]}
        for name, service in where.services.items()
    }
    assert taken == {OURS: {HOSTS[1]}, REFERENCE: {HOSTS[0]}}


def test_a_loop_without_candidates_is_a_wrong_answer():
    with pytest.raises(WrongAnswer, match="times 0"):
        Crowd(schedule("/allocation_candidates"), clients=2).measure(
            stage(ours=offers(), reference=offers(HOSTS[0]))
        )


def test_a_row_that_the_reference_does_not_answer_in_time_says_so():
    figures = Timed(QUESTION).measure(stage(ours=offers(HOSTS[0]), reference=hangs))
    assert figures[REFERENCE].cut_off
    assert describe(figures[REFERENCE]).startswith("> ")
    assert cells(figures)[4].startswith("> ")
    assert notes(figures) == "reference: cut off"


def test_ours_may_not_be_cut_off():
    with pytest.raises(WrongAnswer, match="ours: cut off"):
        Timed(QUESTION).measure(stage(ours=hangs, reference=offers(HOSTS[0])))


def test_other_candidates_than_the_references_are_a_wrong_answer():
    where = stage(ours=offers(HOSTS[0]), reference=offers(*HOSTS))
    with pytest.raises(WrongAnswer):
        Timed(QUESTION).measure(where)


def test_a_figure_says_how_long_the_answer_was():
    figures = Timed(QUESTION).measure(stage(ours=offers(*HOSTS), reference=offers(*HOSTS)))
    assert figures[OURS].bytes == len(offers(*HOSTS)("GET", "/allocation_candidates").body)
