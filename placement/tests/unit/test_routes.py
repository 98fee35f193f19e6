import pytest

from placement import exception
from placement.handler import ROUTE_DECLARATIONS
from placement.routes import Routes

GET = {"GET": lambda request: None}
PUT = {"PUT": lambda request: None}
ROUTES = Routes(
    {"": GET, "/": GET, "/traits": GET, "/traits/{name}": PUT, "/a/{uuid}/b/{name}": GET}
)


@pytest.mark.parametrize("path", ["", "/", "/traits"])
def test_a_path_without_parameters_is_found(path):
    assert ROUTES.find(path) == (GET, {})


def test_parameters_are_found_by_their_names():
    assert ROUTES.find("/a/1 %2F/b/é") == (GET, {"uuid": "1 %2F", "name": "é"})


@pytest.mark.parametrize(
    "path",
    ["traits", "/Traits", "/traits/", "//traits", "/traits/a/", "/a/1", "/a//b/c", "/x", "//"],
)
def test_anything_else_is_not_found(path):
    with pytest.raises(exception.RouteNotFound):
        ROUTES.find(path)


def test_a_parameter_has_one_name():
    with pytest.raises(ValueError, match="differently"):
        Routes({"/a/{uuid}": GET, "/a/{name}/b": GET})


def test_the_declared_paths_do_not_collide():
    Routes(ROUTE_DECLARATIONS)
