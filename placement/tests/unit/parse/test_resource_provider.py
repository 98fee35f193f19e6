from functools import partial

import pytest

from placement import exception
from placement.core.model import UpdateProvider
from placement.microversion import MAX_VERSION, Version
from placement.parse.resource_provider import NewProvider, creation, update

A = "aaaaaaaa-1111-2222-3333-444444444444"


@pytest.mark.parametrize(
    "spelled", [A, A.upper(), A.replace("-", ""), f"{{{A}}}", f"urn:uuid:{A}"]
)
def test_the_uuid_of_a_new_provider_is_made_canonical(spelled):
    assert creation({"name": "n", "uuid": spelled}, MAX_VERSION) == NewProvider(A, "n", None)


def test_the_uuid_may_be_left_to_us():
    assert creation({"name": "n"}, MAX_VERSION) == NewProvider(None, "n", None)


def test_update_distinguishes_null_parent_from_missing_parent():
    assert update(A, {"name": "n"}, MAX_VERSION) == UpdateProvider(A, "n", has_parent=False)
    named = {"name": "n", "parent_provider_uuid": None}
    assert update(A, named, MAX_VERSION) == UpdateProvider(A, "n", None)


@pytest.mark.parametrize("parse", [creation, partial(update, A)])
def test_parents_came_with_1_14(parse):
    document = {"name": "n", "parent_provider_uuid": A}
    assert parse(document, Version(1, 14)).parent_uuid == A
    with pytest.raises(exception.BadRequest, match="'parent_provider_uuid' was unexpected"):
        parse(document, Version(1, 13))


@pytest.mark.parametrize("document", [None, [], "x", 1, {}, {"name": None}, {"name": "n" * 201}])
@pytest.mark.parametrize("parse", [creation, partial(update, A)])
def test_other_documents_are_refused(parse, document):
    with pytest.raises(exception.BadRequest, match="JSON does not validate: "):
        parse(document, MAX_VERSION)
