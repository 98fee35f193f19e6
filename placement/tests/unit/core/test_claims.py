"""What claims change, and why they are rejected."""

import pytest

from placement import exception
from placement.core.claims import (
    Allocation,
    AllocationState,
    ProviderUsage,
    check_generations,
    check_providers,
    plan_claims,
)
from placement.core.model import ConsumerClaim, Inventory

CLASS_IDS = {"VCPU": 0, "MEMORY_MB": 1, "DISK_GB": 2, "PCPU": 14}


def provider(id_=1, used=None, **totals):
    inventories = {
        name: value if isinstance(value, Inventory) else Inventory(total=value)
        for name, value in totals.items()
    }
    return ProviderUsage(id_, inventories, used or {})


def state_of(providers, allocations=None, generations=None):
    """The state before a request; consumers with allocations are at generation 1."""
    allocations = allocations or {}
    return AllocationState(
        dict.fromkeys(allocations, 1) if generations is None else generations,
        allocations,
        providers,
        CLASS_IDS,
    )


def claim_of(consumer="new", *, resources, **values):
    return ConsumerClaim(
        consumer, resources, "project", "user", **{"check_generation": False, **values}
    )


def decide(state, claims):
    """Check and plan as a write of allocations does."""
    check_generations(state.generations, claims)
    check_providers(state, claims)
    return plan_claims(state, claims)


def refusal(state, *claims):
    with pytest.raises(exception.PlacementException) as caught:
        decide(state, claims)
    return caught.value


def fits(state, *claims) -> bool:
    try:
        decide(state, claims)
    except exception.CapacityExceeded:
        return False
    return True


# --- what changes ------------------------------------------------------------------------


def test_a_first_claim_adds_what_it_names():
    state = state_of({"a": provider(VCPU=8, DISK_GB=10)})
    changes = decide(state, [claim_of(resources={"a": {"VCPU": 2, "DISK_GB": 3}})])
    assert list(changes.allocations) == [
        Allocation("new", "a", "VCPU", 2),
        Allocation("new", "a", "DISK_GB", 3),
    ]
    assert changes.usage_deltas == {("a", "VCPU"): 2, ("a", "DISK_GB"): 3}
    assert (changes.generation_bumped, changes.usage_changed) == ({"a"}, frozenset())
    assert [claim.consumer_uuid for claim in changes.retained] == ["new"]
    assert not changes.removed


def test_a_move_changes_both_sides_and_grows_the_new_one():
    state = state_of(
        {"a": provider(VCPU=8, used={"VCPU": 2}), "b": provider(2, VCPU=8)},
        allocations={"one": {"a": {"VCPU": 2}}},
    )
    changes = decide(state, [claim_of("one", resources={"b": {"VCPU": 3}})])
    assert changes.usage_deltas == {("a", "VCPU"): -2, ("b", "VCPU"): 3}
    assert (changes.generation_bumped, changes.usage_changed) == ({"b"}, {"a"})


def test_giving_everything_back_grows_where_it_was():
    state = state_of(
        {"a": provider(VCPU=8, used={"VCPU": 2})}, allocations={"one": {"a": {"VCPU": 2}}}
    )
    changes = decide(state, [claim_of("one", resources={})])
    assert changes.usage_deltas == {("a", "VCPU"): -2}
    assert (changes.generation_bumped, changes.usage_changed) == ({"a"}, frozenset())
    assert (list(changes.retained), list(changes.removed)) == ([], ["one"])


def test_nothing_for_a_consumer_that_is_not_there_changes_nothing():
    changes = decide(state_of({}), [claim_of(resources={}, check_generation=True)])
    assert not any(
        (
            changes.allocations,
            changes.usage_deltas,
            changes.generation_bumped,
            changes.usage_changed,
        )
    )
    assert not any((changes.retained, changes.removed))


def test_the_same_again_leaves_what_is_used():
    state = state_of(
        {"a": provider(VCPU=2, used={"VCPU": 2})}, allocations={"one": {"a": {"VCPU": 2}}}
    )
    changes = decide(state, [claim_of("one", resources={"a": {"VCPU": 2}})])
    assert changes.usage_deltas == {}
    assert changes.generation_bumped == {"a"}


# --- generations of consumers ------------------------------------------------------------


@pytest.mark.parametrize(
    ("actual", "generation", "text"),
    [
        (3, 1, "expected 3 but got 1"),
        (0, None, "expected 0 but got None"),
        (None, 5, "expected null but got 5"),
        (None, 0, "expected null but got 0"),
    ],
)
def test_a_generation_must_be_that_of_the_consumer(actual, generation, text):
    generations = {} if actual is None else {"one": actual}
    state = state_of({"a": provider(VCPU=1)}, generations=generations)
    claim = claim_of(
        "one", resources={"a": {"VCPU": 1}}, check_generation=True, generation=generation
    )
    assert text in str(refusal(state, claim))


def test_a_generation_that_is_not_named_is_not_checked():
    state = state_of({"a": provider(VCPU=1)}, generations={"one": 7})
    assert decide(state, [claim_of("one", resources={"a": {"VCPU": 1}})])


# --- what does not fit -------------------------------------------------------------------


def test_errors_are_reported_in_order():
    state = state_of({"a": provider(VCPU=1), "b": provider(2, PCPU=1)}, allocations={"one": {}})
    stale = claim_of("one", resources={}, check_generation=True, generation=9)
    lost = claim_of(resources={"nowhere": {"COWS": 1}})
    cows = claim_of(resources={"a": {"VCPU": 9}, "b": {"COWS": 1}})
    nothing = claim_of(resources={"a": {"VCPU": 9}, "b": {"VCPU": 1}})
    for claims, error in (
        ((lost, stale), exception.StaleConsumerGeneration),
        ((cows, lost), exception.ProviderToAllocateNotFound),
        ((nothing, cows), exception.UnknownResourceClass),
        ((nothing,), exception.NoSuchInventory),
    ):
        assert type(refusal(state, *claims)) is error
    assert "nowhere" in str(refusal(state, lost))


def test_an_unknown_class_is_told_with_the_consumer_if_there_is_one_only():
    state = state_of({"a": provider(VCPU=1)})
    one, two = (claim_of(name, resources={"a": {"COWS": 1}}) for name in ("one", "two"))
    alone, together = str(refusal(state, one)), str(refusal(state, one, two))
    assert "Unable to allocate inventory for consumer one: No such resource class COWS" in alone
    assert "Unable to allocate inventory: No such resource class COWS" in together


def test_a_provider_with_nothing_of_the_request_is_told_with_all_its_classes():
    state = state_of({"a": provider(VCPU=1), "b": provider(2, PCPU=1)})
    claim = claim_of(resources={"a": {"VCPU": 1}, "b": {"DISK_GB": 1}})
    assert "Inventory for 'DISK_GB, VCPU' on resource provider 'b'" in str(refusal(state, claim))


def test_a_class_that_the_provider_lacks_is_told_alone():
    state = state_of({"a": provider(VCPU=1)})
    error = refusal(state, claim_of(resources={"a": {"VCPU": 1, "DISK_GB": 1}}))
    assert "Inventory for 'DISK_GB' on resource provider 'a' invalid." in str(error)
    assert error.consumer_uuid == "new"


@pytest.mark.parametrize("amount", [1, 3, 8, 2**40])
def test_an_amount_must_fit_min_unit_max_unit_and_step_size(amount):
    state = state_of(
        {"a": provider(VCPU=Inventory(total=100, min_unit=2, max_unit=6, step_size=2))}
    )
    error = refusal(state, claim_of(resources={"a": {"VCPU": amount}}))
    assert isinstance(error, exception.InventoryConstraintsViolated)
    assert f"'VCPU' on resource provider 'a'. The requested amount {amount} would" in str(error)
    assert "(min_unit 2, max_unit 6, step_size 2)" in str(error)
    assert error.consumer_uuid == "new"


def test_the_capacity_is_not_truncated():
    state = state_of({"a": provider(VCPU=Inventory(total=10, reserved=1, allocation_ratio=1.5))})
    assert fits(state, claim_of(resources={"a": {"VCPU": 13}}))
    assert not fits(state, claim_of(resources={"a": {"VCPU": 14}}))


def test_what_others_use_is_not_there():
    state = state_of({"a": provider(VCPU=8, used={"VCPU": 6})})
    assert fits(state, claim_of(resources={"a": {"VCPU": 2}}))
    error = refusal(state, claim_of(resources={"a": {"VCPU": 3}}))
    assert "would exceed the capacity" in str(error)
    assert (error.amount, error.used, error.capacity) == (3, 6, 8)
    assert (error.consumer_uuid, error.occupation, error.own) == ("new", "", 0)


@pytest.mark.parametrize(("reserved", "occupation"), [(0, "in use"), (3, "in use, reserved")])
def test_a_refused_increase_says_that_the_allocations_of_the_consumer_fill_the_host(
    reserved, occupation
):
    inventory = Inventory(total=8, reserved=reserved)
    state = state_of(
        {"a": provider(VCPU=inventory, used={"VCPU": 8})},
        allocations={"one": {"a": {"VCPU": 8}}},
    )
    error = refusal(state, claim_of("one", resources={"a": {"VCPU": 9}}))
    assert (error.used, error.own, error.reserved) == (0, 8, reserved)
    assert error.occupation == occupation


def test_consumers_exchange_what_they_have_together():
    state = state_of(
        {"a": provider(VCPU=8, used={"VCPU": 8})},
        allocations={"one": {"a": {"VCPU": 5}}, "two": {"a": {"VCPU": 3}}},
    )

    def claims(one, two):
        return [
            claim_of(name, resources={"a": {"VCPU": n}})
            for name, n in (("one", one), ("two", two))
        ]

    assert fits(state, *claims(3, 5))
    assert not fits(state, *claims(4, 5))


def test_what_the_consumers_named_hold_is_there_for_them_all():
    state = state_of(
        {"a": provider(VCPU=8, used={"VCPU": 8})},
        allocations={"one": {"a": {"VCPU": 8}}},
    )
    swap = (claim_of("one", resources={}), claim_of("two", resources={"a": {"VCPU": 8}}))
    assert fits(state, *swap)
    assert fits(state, *swap[::-1])


def test_amounts_add_up_over_the_consumers():
    state = state_of({"a": provider(VCPU=2)})
    three = [claim_of(name, resources={"a": {"VCPU": 1}}) for name in ("one", "two", "three")]
    assert fits(state, *three[:2])
    assert not fits(state, *three)


def test_over_commitment_may_stay_or_shrink_but_not_grow():
    full = {"a": provider(VCPU=2, used={"VCPU": 8})}
    one = state_of(full, allocations={"one": {"a": {"VCPU": 4}}})
    assert fits(one, claim_of("one", resources={"a": {"VCPU": 4}}))
    assert fits(one, claim_of("one", resources={"a": {"VCPU": 3}}))
    assert not fits(one, claim_of("one", resources={"a": {"VCPU": 5}}))
    assert not fits(state_of(full), claim_of(resources={"a": {"VCPU": 1}}))


def test_over_commitment_may_pass_from_one_consumer_to_another():
    state = state_of(
        {"a": provider(VCPU=2, used={"VCPU": 8})}, allocations={"one": {"a": {"VCPU": 4}}}
    )
    released = claim_of("one", resources={})
    assert fits(state, released, claim_of("two", resources={"a": {"VCPU": 4}}))
    assert not fits(state, released, claim_of("two", resources={"a": {"VCPU": 5}}))


def test_over_commitment_of_one_class_is_nothing_to_another():
    state = state_of({"a": provider(VCPU=2, DISK_GB=5, used={"VCPU": 8})})
    assert fits(state, claim_of(resources={"a": {"DISK_GB": 5}}))
