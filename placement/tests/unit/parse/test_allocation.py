import pytest

from placement import exception
from placement.core.model import ConsumerClaim, IncompleteConsumer
from placement.microversion import MAX_VERSION, VERSIONS, Version
from placement.parse import allocation

A = "aaaaaaaa-1111-2222-3333-444444444444"
C = "cccccccc-1111-2222-3333-444444444444"
NOBODY = IncompleteConsumer("np", "nu")
OWNERS = {"project_id": "p", "user_id": "u"}
LISTED = [{"resource_provider": {"uuid": A}, "resources": {"VCPU": 2.0}}]
KEYED = {A: {"resources": {"VCPU": 2.0}}}


def written(minor, allocations=None):
    """Return a body as it is written at a version."""
    document = {"allocations": (LISTED if minor < 12 else KEYED)}
    if allocations is not None:
        document["allocations"] = allocations
    if minor >= 8:
        document |= OWNERS
    if minor >= 28:
        document["consumer_generation"] = 3
    if minor >= 38:
        document["consumer_type"] = "INSTANCE"
    return document


def claim(minor, document=None):
    document = written(minor) if document is None else document
    command = allocation.replacement(C, document, Version(1, minor), NOBODY)
    return command[0]


@pytest.mark.parametrize("minor", [version.minor for version in VERSIONS])
def test_a_body_of_each_version_is_understood(minor):
    assert claim(minor) == ConsumerClaim(
        C,
        {A: {"VCPU": 2}},
        "np" if minor < 8 else "p",
        "nu" if minor < 8 else "u",
        generation=3 if minor >= 28 else None,
        check_generation=minor >= 28,
        type="INSTANCE" if minor >= 38 else None,
    )


EDGES = (8, 12, 28, 38)


@pytest.mark.parametrize("edge", EDGES)
def test_a_body_of_another_time_is_refused(edge):
    for minor, other in ((edge, edge - 1), (edge - 1, edge)):
        with pytest.raises(exception.BadRequest, match="JSON does not validate: "):
            claim(minor, written(other))


@pytest.mark.parametrize(("minor", "ok"), [(12, False), (27, False), (28, True), (39, True)])
def test_empty_allocations_since_1_28(minor, ok):
    document = written(minor, {})
    if ok:
        assert claim(minor, document).resources == {}
    else:
        with pytest.raises(exception.BadRequest):
            claim(minor, document)


@pytest.mark.parametrize(("minor", "ok"), [(33, False), (34, True), (38, True)])
@pytest.mark.parametrize("mappings", [{"": "anything"}, {"_A": [A]}, {"1": [A.upper()]}])
def test_mappings_may_be_sent_along_since_1_34(minor, ok, mappings):
    document = written(minor) | {"mappings": mappings}
    if ok:
        assert claim(minor, document) == claim(minor)
    else:
        with pytest.raises(exception.BadRequest, match="'mappings' was unexpected"):
            claim(minor, document)


@pytest.mark.parametrize("mappings", [{}, {"_A": []}, {"_A": ["x"]}, {"_A": A}, []])
def test_mappings_have_a_form_all_the_same(mappings):
    with pytest.raises(exception.BadRequest):
        claim(39, written(39) | {"mappings": mappings})


def test_last_item_of_a_provider_applies():
    items = [{"resource_provider": {"uuid": A}, "resources": {name: 1}} for name in ("X", "Y")]
    assert claim(0, {"allocations": items}).resources == {A: {"Y": 1}}


def test_a_generation_may_be_null_or_a_whole_float():
    assert claim(39, written(39) | {"consumer_generation": None}).generation is None
    assert repr(claim(39, written(39) | {"consumer_generation": 4.0}).generation) == "4"


@pytest.mark.parametrize("amount", [0, -1, 1.5, True, None, "1", [], float("inf")])
def test_amounts_are_whole_and_positive(amount):
    with pytest.raises(exception.BadRequest):
        claim(39, written(39, {A: {"resources": {"VCPU": amount}}}))


def test_consumer_in_path_is_canonical():
    assert allocation.consumer_uuid(C.upper().replace("-", "")) == C
    with pytest.raises(exception.BadRequest, match="Malformed consumer_uuid: x"):
        allocation.consumer_uuid("x")


def test_uuids_are_canonical():
    resources = {"resources": {"VCPU": 1}}
    document = {C.upper(): written(39, {A.upper(): resources})}
    (claimed,) = allocation.replacements(document, MAX_VERSION)
    assert claimed.consumer_uuid == C
    assert claimed.resources == {A: {"VCPU": 1}}


def test_two_spellings_of_a_uuid_are_refused():
    document = {C.upper(): written(39), C: written(39, {})}
    with pytest.raises(exception.BadRequest, match=f"UUID {C} occurs more than once"):
        allocation.replacements(document, MAX_VERSION)


def test_empty_allocations_of_several_since_1_13():
    command = allocation.replacements({C: written(13, {})}, Version(1, 13))
    assert command[0].resources == {}
    assert not command[0].check_generation


@pytest.mark.parametrize("document", [{}, [], {"x": {}}, {C: {}}, {C + "\n": {}}])
def test_invalid_documents_of_several_are_refused(document):
    with pytest.raises(exception.BadRequest):
        allocation.replacements(document, MAX_VERSION)


@pytest.mark.parametrize("minor", [30, 34, 38, 39])
def test_reshape_has_inventories_and_claims(minor):
    inventories = {A: {"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 1}}}}
    document = {"inventories": inventories, "allocations": {C: written(minor)}}
    changes, claims = allocation.reshape(document, Version(1, minor))
    assert changes[0].provider_uuid == A
    assert changes[0].inventories["VCPU"].total == 1
    assert claims == (claim(minor),)


def test_a_reshape_may_be_without_claims_but_not_without_inventories():
    inventories = {A: {"resource_provider_generation": 1, "inventories": {}}}
    document = {"inventories": inventories, "allocations": {}}
    assert allocation.reshape(document, MAX_VERSION)[1] == ()
    with pytest.raises(exception.BadRequest):
        allocation.reshape(document | {"inventories": {}}, MAX_VERSION)
