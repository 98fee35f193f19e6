"""UUIDs are canonical wherever a body has them."""

import pytest

from placement import exception
from placement.microversion import MAX_VERSION, Version
from placement.parse import resource_provider
from placement.parse.allocation import canonical_keys

A = "aaaaaaaa-0000-4000-8000-000000000001"
B = "aaaaaaaa-0000-4000-8000-000000000002"
SPELLINGS = [A, A.upper(), A.replace("-", ""), f"{{{A}}}", f"urn:uuid:{A}"]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_provider_and_parent(spelling):
    document = {"name": "cn", "uuid": spelling, "parent_provider_uuid": spelling}
    new = resource_provider.creation(document, MAX_VERSION)
    assert (new.uuid, new.parent_uuid) == (A, A)
    changes = resource_provider.update(
        A, {"name": "cn", "parent_provider_uuid": spelling}, MAX_VERSION
    )
    assert changes.parent_uuid == A


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_aggregates(spelling):
    document = {"resource_provider_generation": 0, "aggregates": [B, spelling]}
    assert resource_provider.of_provider(document, MAX_VERSION).aggregates == [B, A]
    assert resource_provider.of_provider([B, spelling], Version(1, 1)).aggregates == [B, A]


def test_spellings_of_one_aggregate_are_one_aggregate():
    assert resource_provider.of_provider(SPELLINGS, Version(1, 1)).aggregates == [A]


def test_missing_uuids_stay_missing():
    new = resource_provider.creation({"name": "cn"}, MAX_VERSION)
    assert (new.uuid, new.parent_uuid) == (None, None)
    document = {"name": "cn", "parent_provider_uuid": None}
    assert resource_provider.update(A, document, MAX_VERSION).parent_uuid is None


def test_keys():
    assert canonical_keys({A.upper(): 1, B: 2, "no uuid": 3}) == {A: 1, B: 2, "no uuid": 3}
    with pytest.raises(exception.BadRequest, match=f"{A} occurs more than once"):
        canonical_keys({A: 1, A.upper(): 2})
