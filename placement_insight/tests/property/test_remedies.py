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
from placement.microversion import MAX_VERSION
from placement.tests.plugin import service_options
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
from placement.tests.support.requests import older
from placement.tests.support.stores import replaced_store
from placement_insight.explain.changes import (
    Both,
    Drop,
    Lower,
    Regrouping,
    Remedy,
    query_of,
)
from placement_insight.explain.remedies import at_root, every_relaxation
from placement_insight.tests.property.explanations import explained, roots_with_candidates, text_of

HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}

# The oracle is asked for each change of each change.
FEWER = settings(max_examples=max(settings.default.max_examples // 5, 10))


def with_amount(request: CandidateRequest, lower: Lower, amount: int) -> CandidateRequest:
    group = next(group for group in request.groups if group.suffix == lower.group)
    resources = {**group.resources, lower.resource_class: amount}
    return request.with_group(replace(group, resources=resources))


def relaxed(request: CandidateRequest) -> dict[str, CandidateRequest]:
    return {text_of(drop): changed for drop, changed in every_relaxation(request)}


def applied(request: CandidateRequest, change: Drop | Lower | Both) -> CandidateRequest:
    match change:
        case Drop():
            return relaxed(request)[text_of(change)]
        case Lower():
            return with_amount(request, change, change.to)
        case Both(first, second):
            return applied(applied(request, first), second)


def result(request: CandidateRequest, remedy: Remedy) -> CandidateRequest:
    is_regrouped = isinstance(remedy.change, Regrouping)
    if is_regrouped or remedy.change in [change for change, _ in at_root(request)]:
        return older(request_of(remedy.query), nested=request.nested)
    return applied(request, remedy.change)


def is_possible(request: CandidateRequest, change: Drop | Lower) -> bool:
    """Whether the change is one of this request; a group in a same_subtree cannot be dropped."""
    return not isinstance(change, Drop) or text_of(change) in relaxed(request)


def requested(request: CandidateRequest, lower: Lower) -> int:
    group = next(group for group in request.groups if group.suffix == lower.group)
    return group.resources[lower.resource_class]


def helps(world: World, request: CandidateRequest) -> bool:
    return bool(Oracle(world).candidates(request))


def is_query(request: CandidateRequest) -> bool:
    """Whether the API accepts the request: a group without any parameter cannot be written."""
    try:
        request_of(query_of(request, MAX_VERSION))
    except exception.BadRequest:
        return False
    return True


@given(worlds(), requests())
def test_every_remedy_lets_that_many_roots_fit(world: World, request: CandidateRequest):
    assume(is_query(request))
    for remedy in explained(world, request, remedies=True).remedies:
        assert roots_with_candidates(world, result(request, remedy)) == remedy.roots > 0


@pytest.fixture(scope="module")
def http(kept_databases, tmp_path_factory):
    """The service, with the names of the generated worlds."""
    folder = tmp_path_factory.mktemp("remedies")
    shutil.copy(sa.make_url(kept_databases("sqlite")).database, folder / "placement")
    options = service_options(f"sqlite:///{folder / 'placement'}")
    store = Store(db_api.settings(options))
    with replaced_store(store):
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
    sent = http.get(
        f"/allocation_candidates?{query_of(request, MAX_VERSION)}", headers=HEADERS, status="*"
    )
    assume(sent.status_int == 200)
    for remedy in explained(world, request, remedies=True).remedies:
        http.get(f"/allocation_candidates?{remedy.query}", headers=HEADERS, status=200)
        changed = older(request_of(remedy.query), nested=request.nested)
        assert roots_with_candidates(world, changed) == remedy.roots


@FEWER
@given(worlds(), requests())
def test_no_larger_amount_fits(world: World, request: CandidateRequest):
    explanation = explained(world, request, remedies=True)
    if explanation.fits:
        return
    lowered = {
        (suffix, remedy.change.resource_class): remedy.change.to
        for remedy in explanation.remedies
        if isinstance(remedy.change, Lower)
        for suffix in (remedy.change.group, *remedy.change.alike)
    }
    for group in request.groups:
        for name, amount in group.resources.items():
            probe = Lower(group.suffix, name, 0)
            for more in range(lowered.get((group.suffix, name), 0) + 1, amount):
                assert not helps(world, with_amount(request, probe, more))


@given(device_worlds(), device_requests())
def test_other_groups_request_the_same_amounts(world: World, request: CandidateRequest):
    assume(is_query(request))
    for remedy in explained(world, request, remedies=True).remedies:
        if isinstance(remedy.change, Regrouping):
            changed = request_of(remedy.query)
            assert amounts(changed) == amounts(request)
            assert roots_with_candidates(world, result(request, remedy)) == remedy.roots


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
    are_pairs = {isinstance(remedy.change, Both) for remedy in explanation.remedies}
    assert len(are_pairs) <= 1
    for remedy in explanation.remedies if are_pairs == {True} else ():
        pair = (remedy.change.first, remedy.change.second)
        for change, other in (pair, pair[::-1]):
            if is_possible(request, change):
                assert not helps(world, applied(request, change))
            if isinstance(change, Lower):
                without_other = applied(request, other)
                for more in range(change.to + 1, requested(request, change)):
                    assert not helps(world, with_amount(without_other, change, more))


@pytest.mark.long
@FEWER
@given(worlds(), requests())
def test_two_dropped_requirements_that_help_are_found(world: World, request: CandidateRequest):
    explanation = explained(world, request, remedies=True)
    if explanation.fits or explanation.remedies:
        return
    for first, second in combinations(relaxed(request).values(), 2):
        for _, changed in (*every_relaxation(first), *every_relaxation(second)):
            assert not helps(world, changed)
