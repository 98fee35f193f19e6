import pytest

from placement import exception, policies
from placement.handler import ROUTE_DECLARATIONS, Routes

GET = {"GET": lambda request: None}
PUT = {"PUT": lambda request: None}
ROUTES = Routes(
    {"": GET, "/": GET, "/traits": GET, "/traits/{name}": PUT, "/a/{uuid}/b/{name}": GET}
)


@pytest.mark.parametrize("path", ["", "/", "/traits"])
def test_a_path_without_parameters_is_found(path):
    assert ROUTES.find(path) == (GET, {}, path)


def test_parameters_are_found_by_their_names():
    parameters = {"uuid": "1 %2F", "name": "é"}
    assert ROUTES.find("/a/1 %2F/b/é") == (GET, parameters, "/a/{uuid}/b/{name}")


@pytest.mark.parametrize(
    "path",
    ["traits", "/Traits", "/traits/", "//traits", "/traits/a/", "/a/1", "/a//b/c", "/x", "//"],
)
def test_anything_else_is_not_found(path):
    with pytest.raises(exception.RouteNotFound):
        ROUTES.find(path)


def test_the_first_of_several_matches_applies():
    routes = Routes({"/traits/all": GET, "/traits/{name}": PUT})
    assert routes.find("/traits/all").template == "/traits/all"


PROVIDER = "/resource_providers/{uuid}"


def test_all_paths_are_declared_with_their_methods_in_the_order_of_the_allow_header():
    declared = {path: ", ".join(methods) for path, methods in ROUTE_DECLARATIONS.items()}
    assert declared == {
        "": "GET",
        "/": "GET",
        "/resource_classes": "GET, POST",
        "/resource_classes/{name}": "GET, PUT, DELETE",
        "/resource_providers": "GET, POST",
        PROVIDER: "GET, DELETE, PUT",
        f"{PROVIDER}/inventories": "GET, POST, PUT, DELETE",
        f"{PROVIDER}/inventories/{{resource_class}}": "GET, PUT, DELETE",
        f"{PROVIDER}/usages": "GET",
        f"{PROVIDER}/aggregates": "GET, PUT",
        f"{PROVIDER}/allocations": "GET",
        f"{PROVIDER}/traits": "GET, PUT, DELETE",
        "/allocations": "POST",
        "/allocations/{consumer_uuid}": "GET, PUT, DELETE",
        "/allocation_candidates": "GET",
        "/traits": "GET",
        "/traits/{name}": "GET, PUT, DELETE",
        "/usages": "GET",
        "/reshaper": "POST",
    }


def test_every_path_and_method_but_the_root_has_its_policy_rule():
    ruled = [
        (operation["path"], operation["method"])
        for rule in policies.OPERATIONS
        for operation in rule.operations
    ]
    declared = {
        (path, method) for path, methods in ROUTE_DECLARATIONS.items() for method in methods
    }
    assert len(ruled) == len(set(ruled))
    assert set(ruled) == declared - {("", "GET"), ("/", "GET")}
