"""A remedy, applied to the request, gives a candidate; a larger amount gives none.

The API accepts each of them.
"""

import shutil
from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest
import sqlalchemy as sa
import webtest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from placement import db_api, deploy, exception
from placement.core.request import CandidateRequest
from placement.db.store import Store
from placement.insight.explanation.model import Remedy
from placement.insight.explanation.relaxations import every_relaxation, query_of, with_group
from placement.tests.conftest import service_options
from placement.tests.property.explanations import explained, roots_with_candidates
from placement.tests.property.searches import World
from placement.tests.property.strategies import (
    CLASSES,
    TRAITS,
    device_requests,
    device_worlds,
    requests,
    worlds,
)
from placement.tests.support.oracle import Oracle
from placement.tests.support.queries import request_of

HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}

# The oracle is asked for each change of each change.
FEWER = settings(max_examples=max(settings.default.max_examples // 5, 10))


def with_amount(request: CandidateRequest, remedy: Remedy, amount: int) -> CandidateRequest:
    group = next(group for group in request.groups if group.suffix == remedy.group)
    resources = {**group.resources, remedy.resource_class: amount}
    return with_group(request, replace(group, resources=resources))


def relaxed(request: CandidateRequest) -> dict[str, CandidateRequest]:
    return {relaxation.requirement: relaxation.request for relaxation in every_relaxation(request)}


def applied(request: CandidateRequest, remedy: Remedy) -> CandidateRequest:
    if remedy.change == "drop":
        return relaxed(request)[remedy.requirement]
    if remedy.change == "amount":
        return with_amount(request, remedy, remedy.to)
    if remedy.change in ("split", "unsuffix"):
        return replace(request_of(remedy.query), nested=request.nested)
    for change in remedy.changes:
        request = applied(request, change)
    return request


def is_possible(request: CandidateRequest, remedy: Remedy) -> bool:
    """Whether the change is one of this request; a group in a same_subtree cannot be dropped."""
    return remedy.change != "drop" or remedy.requirement in relaxed(request)


def requested(request: CandidateRequest, remedy: Remedy) -> int:
    group = next(group for group in request.groups if group.suffix == remedy.group)
    return group.resources[remedy.resource_class]


def helps(world: World, request: CandidateRequest) -> bool:
    return bool(Oracle(world).candidates(request))


def is_query(request: CandidateRequest) -> bool:
    """Whether the API accepts the request: a group without any parameter cannot be written."""
    try:
        request_of(query_of(request))
    except exception.BadRequest:
        return False
    return True


@given(worlds(), requests())
def test_every_remedy_lets_that_many_roots_fit(world: World, request: CandidateRequest):
    assume(is_query(request))
    for remedy in explained(world, request, remedies=True).remedies:
        assert roots_with_candidates(world, applied(request, remedy)) == remedy.roots > 0


@pytest.fixture(scope="module")
def http(kept_databases, tmp_path_factory):
    """The service, with the names of the generated worlds."""
    folder = tmp_path_factory.mktemp("remedies")
    shutil.copy(sa.make_url(kept_databases("sqlite")).database, folder / "placement")
    options = service_options(f"sqlite:///{folder / 'placement'}")
    store = Store(db_api.settings(options))
    with db_api.placement_context_manager.replaced(store):
        http = webtest.TestApp(deploy.loadapp(options))
        for name in {*TRAITS, *CLASSES}:
            kind = "resource_classes" if name in CLASSES else "traits"
            if name.startswith("CUSTOM_"):
                http.put(f"/{kind}/{name}", headers=HEADERS)
        yield http
    store.dispose()


@pytest.mark.parametrize("make", ["any", "devices"])
@given(data=st.data())
def test_the_api_accepts_every_remedy(http, make: str, data: st.DataObject):
    world = data.draw(worlds() if make == "any" else device_worlds())
    request = data.draw(requests() if make == "any" else device_requests())
    # a resourceless group without conditions cannot be written as a query
    sent = http.get(f"/allocation_candidates?{query_of(request)}", headers=HEADERS, status="*")
    assume(sent.status_int == 200)
    for remedy in explained(world, request, remedies=True).remedies:
        http.get(f"/allocation_candidates?{remedy.query}", headers=HEADERS, status=200)
        changed = replace(request_of(remedy.query), nested=request.nested)
        assert roots_with_candidates(world, changed) == remedy.roots


@FEWER
@given(worlds(), requests())
def test_no_larger_amount_fits(world: World, request: CandidateRequest):
    explanation = explained(world, request, remedies=True)
    if explanation.fits:
        return
    lowered = {
        (suffix, remedy.resource_class): remedy.to
        for remedy in explanation.remedies
        if remedy.change == "amount"
        for suffix in (remedy.group, *remedy.alike)
    }
    for group in request.groups:
        for name, amount in group.resources.items():
            probe = Remedy("amount", 0, group=group.suffix, resource_class=name)
            for more in range(lowered.get((group.suffix, name), 0) + 1, amount):
                assert not helps(world, with_amount(request, probe, more))


@given(device_worlds(), device_requests())
def test_other_groups_request_the_same_amounts(world: World, request: CandidateRequest):
    assume(is_query(request))
    for remedy in explained(world, request, remedies=True).remedies:
        if remedy.change in ("split", "unsuffix"):
            changed = request_of(remedy.query)
            assert amounts(changed) == amounts(request)
            assert roots_with_candidates(world, applied(request, remedy)) == remedy.roots


def amounts(request: CandidateRequest) -> Counter[str]:
    total: Counter[str] = Counter()
    for group in request.groups:
        total.update(group.resources)
    return total


@FEWER
@given(worlds(), requests())
def test_two_changes_are_listed_only_if_no_single_one_helps(
    world: World, request: CandidateRequest
):
    explanation = explained(world, request, remedies=True)
    changes = {remedy.change for remedy in explanation.remedies}
    assert "both" not in changes or changes == {"both"}
    for remedy in explanation.remedies:
        for change in remedy.changes:
            if is_possible(request, change):
                assert not helps(world, applied(request, change))
            if change.change == "amount":
                (other,) = (each for each in remedy.changes if each is not change)
                without_other = applied(request, other)
                for more in range(change.to + 1, requested(request, change)):
                    assert not helps(world, with_amount(without_other, change, more))


@FEWER
@given(worlds(), requests())
def test_two_dropped_requirements_that_help_are_found(world: World, request: CandidateRequest):
    explanation = explained(world, request, remedies=True)
    if explanation.fits or explanation.remedies:
        return
    for first, second in combinations(relaxed(request).values(), 2):
        for relaxation in (*every_relaxation(first), *every_relaxation(second)):
            assert not helps(world, relaxation.request)
