"""What is known of a refused claim."""

from dataclasses import replace

import pytest

from placement import exception
from placement.core.claims import (
    AllocationState,
    ProviderUsage,
    check_generations,
    check_providers,
    plan_claims,
)
from placement.core.model import ConsumerClaim, Inventory
from placement.errors import TABLE
from placement.tests.support import docs
from placement_insight.explain.records import refusals

HOST = ProviderUsage(
    1, {"VCPU": Inventory(total=10, reserved=2, max_unit=6, step_size=2)}, {"VCPU": 5}
)
HELD = {"known": {"host": {"VCPU": 2}}}
STATE = AllocationState({"known": 3}, {}, {"host": HOST}, {"VCPU": 0, "DISK_GB": 2})


def refused(*claims):
    with pytest.raises(refusals.REFUSALS) as caught:
        decide(claims)
    return caught.value


def decide(claims):
    check_generations(STATE.generations, claims)
    check_providers(STATE, claims)
    held = {claim.consumer_uuid: HELD.get(claim.consumer_uuid, {}) for claim in claims}
    plan_claims(replace(STATE, allocations=held), claims)


def claim(consumer="new", generation=None, of_type=None, **resources):
    claimed = {"host": resources}
    return ConsumerClaim(consumer, claimed, "p", "u", generation=generation, type=of_type)


def test_capacity_is_refused_with_all_its_numbers():
    error = refused(claim(VCPU=4))
    assert refusals.described(error).line() == (
        "capacity: provider host, resource_class VCPU, needed 4, used 5, own 0, reserved 2, "
        "capacity 8, consumer new"
    )


def test_a_portion_is_refused_with_the_portions_there_are():
    error = refused(claim(VCPU=3))
    assert refusals.described(error).document({"host": "cn17"}) == {
        "version": 1,
        "code": "unit",
        "provider": {"uuid": "host", "name": "cn17"},
        "resource_class": "VCPU",
        "needed": 3,
        "min_unit": 1,
        "max_unit": 6,
        "step_size": 2,
        "consumer": "new",
    }


@pytest.mark.parametrize("others", [{}, {"VCPU": 2}])
def test_a_class_that_is_not_there_is_refused_with_its_name(others):
    refusal = refusals.described(refused(claim(DISK_GB=1, **others)))
    assert refusal.code == "no_inventory"
    assert refusal.facts["resource_classes"] == ("DISK_GB",)
    assert refusal.facts["consumer"] == "new"
    assert refusals.classes(refusal) == ("DISK_GB",)


def test_a_generation_is_refused_with_both():
    error = refused(claim("known", 2, VCPU=2))
    assert refusals.described(error).line() == (
        "consumer_generation: consumer known, expected 3, given 2"
    )


def test_a_lost_race_has_a_code_alone():
    assert refusals.classes(refusals.described(exception.Conflict())) == ()
    assert refusals.described(exception.Conflict()).line() == "concurrent_update"


def test_a_reshape_without_claims_has_none_to_keep():
    assert refusals.claim(refusals.described(exception.Conflict()), (), {}) == {"consumers": 0}


WRITES = [
    (
        exception.InventoryInUse("host", ("VCPU", "PCPU"), "1 in all, among them u1"),
        "the inventory of VCPU and PCPU on cn17 was not deleted, because consumers use it: "
        "1 in all, among them u1",
    ),
    (
        exception.SingleInventoryInUse("host", "VCPU", "1 in all, among them u1"),
        "the inventory of VCPU on cn17 was not deleted, because consumers use it: "
        "1 in all, among them u1",
    ),
    (
        exception.ProviderInUse("host", "1 in all, among them u1"),
        "cn17 was not deleted, because consumers use it: 1 in all, among them u1",
    ),
    (
        exception.ProviderHasChildren("host", "numa0 (u1)"),
        "cn17 was not deleted, because it has child providers: numa0 (u1)",
    ),
    (exception.ReshapedProviderNotFound("gone"), "provider gone does not exist"),
    (
        exception.TotalIsReserved("host", "VCPU", "update", "greater than or equal to"),
        "the inventory of VCPU on cn17 was not written, because the reserved value is greater "
        "than or equal to total",
    ),
    (
        exception.InventoryExists("host", "VCPU"),
        "the inventory of VCPU on cn17 was not written, because it exists",
    ),
    (
        exception.StaleProviderGeneration("host", 3, 2),
        "cn17 is at generation 3, the write expected generation 2",
    ),
]


@pytest.mark.parametrize(("error", "sentence"), WRITES)
def test_people_read_a_sentence_about_a_write_without_claims(error, sentence):
    assert isinstance(error, refusals.REFUSALS)
    document = refusals.described(error).document({"host": "cn17"})
    assert refusals.sentence(document, {"consumers": 0}) == sentence


def test_the_claim_on_a_provider_that_does_not_exist_is_kept():
    claims = (claim("first", VCPU=2), ConsumerClaim("second", {"gone": {"VCPU": 1}}, "p", "u"))
    assert refusals.refused_claim(refusals.described(refused(*claims)), claims) is claims[1]


def test_of_several_claims_the_refused_one_is_kept():
    claims = (claim("first", VCPU=2), claim("second", VCPU=4))
    refusal = refusals.described(refused(*claims))
    assert refusals.claim(refusal, claims, {"host": "cn17"}) == {
        "consumer_uuid": "second",
        "consumer_generation": None,
        "consumer_type": None,
        "project_id": "p",
        "user_id": "u",
        "allocations": {"host": {"resources": {"VCPU": 4}}},
        "providers": {"host": "cn17"},
        "consumers": 2,
    }


SENTENCES = [
    (claim(VCPU=4), "cn17 has 3 of 8 VCPU free, 4 were claimed by consumer new"),
    (
        claim(VCPU=8, of_type="INSTANCE"),
        "cn17 allows at most 6 VCPU in one allocation (max_unit), 8 were claimed by server new",
    ),
    (
        claim(VCPU=1, of_type="MIGRATION"),
        "cn17 allows multiples of 2 VCPU (step_size), 1 was claimed by migration new",
    ),
    (claim(DISK_GB=1), "cn17 has no inventory of DISK_GB, claimed by consumer new"),
    (
        claim("known", 3, VCPU=6),
        "cn17 has 3 of 8 VCPU free, and 2 of its own, 6 were claimed by consumer known",
    ),
    (claim(VCPUS=1), "resource class VCPUS does not exist, claimed by consumer new"),
    (
        ConsumerClaim("new", {"gone": {"VCPU": 1}}, "p", "u"),
        "provider gone does not exist, claimed by consumer new",
    ),
    (
        claim("known", 2, VCPU=2),
        "consumer known is at generation 3, the claim expected generation 2",
    ),
    (
        claim("known", VCPU=2),
        "consumer known is at generation 3, the claim expected a new consumer",
    ),
    (claim("new", 2, VCPU=2), "consumer new does not exist, the claim expected generation 2"),
]


@pytest.mark.parametrize(("refused_claim", "sentence"), SENTENCES)
def test_people_read_a_sentence_with_the_name_of_the_host(refused_claim, sentence):
    refusal, names = refusals.described(refused(refused_claim)), {"host": "cn17"}
    claimed = refusals.claim(refusal, [refused_claim], names)
    assert refusals.sentence(refusal.document(names), claimed) == sentence


def test_a_sentence_has_the_uuid_of_a_host_without_a_name():
    refusal = refusals.described(refused(claim(VCPU=4)))
    claimed = refusals.claim(refusal, [claim(VCPU=4)], {})
    sentence = refusals.sentence(refusal.document({}), claimed)
    assert sentence == "host has 3 of 8 VCPU free, 4 were claimed by consumer new"


@pytest.mark.parametrize(
    ("inventory", "used", "free"),
    [
        (Inventory(8), 10, "0 of 8 VCPU free (in use)"),
        (Inventory(8, 2), 6, "0 of 6 VCPU free (in use)"),
        (Inventory(8, 2), 7, "0 of 6 VCPU free (in use, reserved)"),
        (Inventory(4, 2), 5, "0 of 2 VCPU free (in use)"),
        (Inventory(1, 1), 1, "0 of 0 VCPU free (in use, reserved)"),
        (Inventory(1, 1), 0, "0 of 0 VCPU free (reserved)"),
        (Inventory(8, 2), 5, "1 of 6 VCPU free"),
        (Inventory(100, allocation_ratio=1.15), 114, "0 of 114 VCPU free (in use)"),  # 114.99...
        (Inventory(1, allocation_ratio=0.5), 0, "0 of 0 VCPU free"),
        (Inventory(8, allocation_ratio=0.0), 0, "0 of 0 VCPU free"),
    ],
)
def test_why_nothing_is_free_has_the_words_of_explanations(inventory, used, free):
    host = ProviderUsage(1, {"VCPU": inventory}, {"VCPU": used})
    state = AllocationState({}, {}, {"host": host}, {"VCPU": 0})
    with pytest.raises(exception.CapacityExceeded) as caught:
        plan_claims(state, [claim(VCPU=2)])
    document = refusals.described(caught.value).document({})
    sentence = refusals.sentence(document, {"consumer_uuid": "new"})
    assert sentence == f"host has {free}, 2 were claimed by consumer new"


def test_conflicts_and_truncated_records():
    conflict = refusals.described(exception.Conflict()).document({})
    for claimed, what in (
        ({"consumers": 0}, "the write"),
        ({"consumer_uuid": "new"}, "the claim by consumer new"),
    ):
        sentence = refusals.sentence(conflict, claimed)
        assert sentence == f"{what} conflicted with concurrent updates, in every retry"
    assert refusals.sentence({"truncated": True, "length": 70_000}, {}) is None
    explanation = refusals.described(refused(claim(DISK_GB=1))).document({"host": "cn17"})
    sentence = refusals.sentence(explanation, {"truncated": True, "length": 70_000})
    assert sentence == "cn17 has no inventory of DISK_GB, claimed by consumer new"


NOT_RECORDED = {
    exception.BadRequest: "invalid query, body",
    exception.DuplicateQueryKey: "invalid query",
    exception.BadQueryValue: "invalid query",
    exception.MissingQueryValue: "invalid query",
    exception.InvalidVersion: "microversion",
    exception.CannotCreateProvider: "parent",
    exception.CannotSaveProvider: "parent",
    exception.NoInventoryRecord: "inventory to change that does not exist",
    exception.TraitsNotFound: "trait, parent or inventory to change that does not exist",
    exception.UnknownRoot: "invalid query",
    exception.StandardClassNotRenamable: "standard classes",
    exception.StandardClassNotDeletable: "standard classes",
    exception.StandardTraitNotDeletable: "traits to rename or delete",
    exception.PolicyNotAuthorized: "permission",
    exception.RouteNotFound: "of the API",
    exception.ProviderNotFound: "a provider",
    exception.InventoryNotFound: "an inventory",
    exception.InventoryNotFoundForDelete: "an inventory",
    exception.ResourceClassNotFound: "a class",
    exception.TraitNotFound: "a trait",
    exception.NoAllocations: "allocations to delete",
    exception.RequestNotRecorded: "of the API",
    exception.MethodNotAllowed: "HTTP servers",
    exception.NotAcceptable: "HTTP servers",
    exception.UnacceptableVersion: "HTTP servers",
    exception.RequestBodyTooLarge: "HTTP servers",
    exception.RequestUriTooLong: "HTTP servers",
    exception.UnsupportedMediaType: "HTTP servers",
    exception.RequestHeadTooLarge: "HTTP servers",
    exception.ResourceClassExists: "a class that exists",
    exception.ResourceClassNameTaken: "a class that exists",
    exception.ResourceClassInUse: "in use",
    exception.TraitInUse: "in use",
    exception.DatabaseUnavailable: "the database",
    exception.PolicyCheckFailed: "the policy",
    exception.SearchDeadlineExceeded: "the search takes too long",
    exception.TooManySlowRequests: "too many requests compute",
}
"""The words of the documentation about each error without a record."""


def test_each_error_is_recorded_or_documented_as_not_recorded():
    recorded = (*refusals.REFUSALS, exception.DuplicateProvider, exception.UnknownClassOrTrait)
    without = {
        kind
        for kind in TABLE
        if not (issubclass(kind, recorded) or any(issubclass(each, kind) for each in recorded))
    }
    assert without == NOT_RECORDED.keys()
    page = (docs.SOURCE / "admin" / "troubleshooting-no-valid-host.rst").read_text()
    section = page.partition("Requests that are not recorded\n---")[2].partition("=====\n")[0]
    rows = {
        status: " ".join(text.split())
        for row in section.split("   * - ")[2:]
        for statuses, _, text in [row.partition("\n     - ")]
        for status in statuses.split(", ")
    }
    assert rows.keys() == {"401", *(str(TABLE[kind].status) for kind in without)}
    for kind, words in NOT_RECORDED.items():
        assert words in rows[str(TABLE[kind].status)], kind
