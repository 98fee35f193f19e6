"""What is known of a refused claim."""

import pytest

from placement import exception
from placement.core.claims import (
    AllocationState,
    ProviderUsage,
    check_generations,
    plan_claims,
)
from placement.core.model import ConsumerClaim, Inventory
from placement.insight.recording import model

HOST = ProviderUsage(
    1, {"VCPU": Inventory(total=10, reserved=2, max_unit=6, step_size=2)}, {"VCPU": 5}
)
STATE = AllocationState({"known": 3}, {}, {"host": HOST}, {"VCPU": 0, "DISK_GB": 2})


def refused(*claims):
    with pytest.raises(model.REFUSALS) as caught:
        decide(claims)
    return caught.value


def decide(claims):
    check_generations(STATE.generations, claims)
    plan_claims(STATE, claims)


def claim(consumer="new", generation=None, **resources):
    return ConsumerClaim(consumer, {"host": resources}, "p", "u", generation=generation)


def test_capacity_is_refused_with_all_its_numbers():
    error = refused(claim(VCPU=4))
    assert model.described(error).line() == (
        "capacity: provider host, resource_class VCPU, needed 4, used 5, reserved 2, capacity 8, "
        "consumer new"
    )


def test_a_portion_is_refused_with_the_portions_there_are():
    error = refused(claim(VCPU=3))
    assert model.described(error).document() == {
        "version": 1,
        "code": "unit",
        "provider": {"uuid": "host"},
        "resource_class": "VCPU",
        "needed": 3,
        "min_unit": 1,
        "max_unit": 6,
        "step_size": 2,
        "consumer": "new",
    }


@pytest.mark.parametrize("others", [{}, {"VCPU": 2}])
def test_a_class_that_is_not_there_is_refused_with_its_name(others):
    refusal = model.described(refused(claim(DISK_GB=1, **others)))
    assert refusal.code == "no_inventory"
    assert refusal.facts["resource_classes"] == ["DISK_GB"]
    assert refusal.facts["consumer"] == "new"


def test_a_generation_is_refused_with_both():
    error = refused(claim("known", 2, VCPU=2))
    assert model.described(error).line() == (
        "consumer_generation: consumer known, expected 3, given 2"
    )


def test_a_lost_race_has_a_code_alone():
    assert model.described(exception.Conflict()).line() == "concurrent_update"


def test_a_reshape_without_claims_has_none_to_keep():
    assert model.claim(exception.Conflict(), ()) == {"consumers": 0}


def test_of_several_claims_the_refused_one_is_kept():
    claims = (claim("first", VCPU=2), claim("second", VCPU=4))
    error = refused(*claims)
    assert model.claim(error, claims) == {
        "consumer_uuid": "second",
        "consumer_generation": None,
        "project_id": "p",
        "user_id": "u",
        "allocations": {"host": {"resources": {"VCPU": 4}}},
        "consumers": 2,
    }
