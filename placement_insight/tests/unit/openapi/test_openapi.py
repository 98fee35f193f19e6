"""The description of the interface is one, and names what there is."""

import json

import pytest

import openapi
from openapi.operations import OPERATIONS
from openapi.version_range import VersionRange
from placement import errors, microversion
from placement.handler import all_routes
from placement.microversion import MAX_VERSION

OPERATIONS_SERVED = [
    (method, path) for path, methods in all_routes().items() for method in methods
]


def described(text):
    version = microversion.parse(text)
    return openapi.document(VersionRange(version, version))


def operations(document):
    return {
        (method.upper(), path)
        for path, item in document["paths"].items()
        for method in item
        if method != "parameters"
    }


@pytest.mark.xdist_group("validator")  # its modules take a second of each process
@pytest.mark.parametrize("version", [None, "1.0", "1.6", str(MAX_VERSION)])
def test_it_is_valid(version):
    import openapi_spec_validator  # noqa: PLC0415  not in each process of the tests

    document = described(version) if version else openapi.document()
    openapi_spec_validator.validate(json.loads(json.dumps(document)))


def test_it_names_the_operations_that_are_routed():
    assert operations(openapi.document()) == {route for route in OPERATIONS_SERVED if route[1]}
    assert OPERATIONS.keys() == set(OPERATIONS_SERVED)


def test_a_microversion_has_the_operations_of_its_time():
    assert ("GET", "/allocation_candidates") not in operations(described("1.9"))
    assert ("GET", "/allocation_candidates") in operations(described("1.10"))
    assert ("DELETE", "/resource_providers/{uuid}/inventories") not in operations(described("1.4"))


@pytest.mark.parametrize("version", [str(version) for version in microversion.VERSIONS])
def test_of_one_microversion_nothing_has_two_forms(version):
    assert "oneOf" not in json.dumps(described(version))


def test_forms_are_marked_with_their_microversions():
    body = openapi.document()["paths"]["/allocations/{consumer_uuid}"]["put"]["requestBody"]
    schema = body["content"]["application/json"]["schema"]
    marks = [form["x-openstack"] for form in schema["oneOf"]]
    assert marks[0] == {"min-ver": "1.0", "max-ver": "1.7"}
    assert marks[-1] == {"min-ver": "1.38", "max-ver": str(MAX_VERSION)}
    assert schema["x-openstack"] == {"discriminator": "microversion"}


def test_a_handler_of_several_windows_answers_differently_in_each():
    def statuses(version):
        path = described(version)["paths"]["/resource_classes/{name}"]
        return {status for status in path["put"]["responses"] if status < "300"}

    assert (statuses("1.6"), statuses("1.7")) == ({"200"}, {"201", "204"})
    assert "requestBody" in described("1.6")["paths"]["/resource_classes/{name}"]["put"]
    assert "requestBody" not in described("1.7")["paths"]["/resource_classes/{name}"]["put"]


def test_every_error_code_is_in_it():
    text = json.dumps(openapi.document()["components"]["responses"])
    assert {wire.code for wire in errors.TABLE.values() if f'"{wire.code}"' not in text} == set()


def test_the_root_needs_no_token():
    paths = openapi.document()["paths"]
    assert paths["/"]["get"]["security"] == []
    assert "401" not in paths["/"]["get"]["responses"]
    assert "security" not in paths["/traits"]["get"]
