from types import SimpleNamespace

import pytest

from placement import exception, microversion
from placement.microversion import MAX_VERSION, MIN_VERSION, VERSIONS, Version


def test_forty_versions_are_served():
    assert [str(version) for version in VERSIONS] == [f"1.{minor}" for minor in range(40)]


@pytest.mark.parametrize(
    "header", [None, "", "compute 2.1", "1.3", "latest", "placement", "placement1.3", "placement "]
)
def test_a_header_that_names_no_version_of_ours_means_the_oldest(header):
    assert microversion.negotiate(header) == MIN_VERSION


@pytest.mark.parametrize(
    ("header", "version"),
    [
        ("placement 1.3", (1, 3)),
        ("PLACEMENT 1.3", (1, 3)),
        ("placement   1.3  ", (1, 3)),
        ("placement\t1.3", (1, 3)),
        ("placement 1.05", (1, 5)),
        ("placement latest", MAX_VERSION),
        ("compute 2.1, placement 1.3", (1, 3)),
        ("placement 1.3, compute 2.1", (1, 3)),
        ("placement 1.3, placement 1.4", (1, 4)),
        ("placement 0.9,placement 1.4", (1, 4)),
    ],
)
def test_the_last_element_of_ours_counts(header, version):
    assert microversion.negotiate(header) == version


@pytest.mark.parametrize("version", ["0.5", "1.40", "-1.3", "2.0"])
def test_a_version_that_is_not_served_is_unacceptable(version):
    with pytest.raises(exception.UnacceptableVersion, match=version) as raised:
        microversion.negotiate(f"placement {version}")
    assert (raised.value.min_version, raised.value.max_version) == ("1.0", "1.39")


@pytest.mark.parametrize(
    "version", ["pony.horse", "1.2.3", "1", "1.x", "LATEST", "1.3 1.4", "1." + "9" * 5000]
)
def test_what_is_not_written_as_a_version_is_invalid(version):
    with pytest.raises(exception.InvalidVersion, match="invalid version string: "):
        microversion.negotiate(f"placement {version}")


def at(minor):
    return SimpleNamespace(version=Version(1, minor), method="GET")


def test_a_window_serves_both_its_ends():
    handler = microversion.by_version({("1.2", "1.6"): lambda request: request.version.minor})
    assert [handler(at(2)), handler(at(6))] == [2, 6]


@pytest.mark.parametrize("minor", [1, 7])
def test_outside_its_window_a_handler_is_not_found(minor):
    handler = microversion.by_version({("1.2", "1.6"): lambda request: None})
    with pytest.raises(exception.RouteNotFound):
        handler(at(minor))


def test_a_method_can_be_not_allowed_below_its_window():
    handler = microversion.version_handler("1.5", status=405)(lambda request: "deleted")
    with pytest.raises(exception.MethodNotAllowed, match=r"exists from 1.5; .* at 1.4\.$"):
        handler(at(4))
    assert handler(at(39)) == "deleted"


def test_handlers_can_take_turns_by_version():
    handler = microversion.by_version(
        {("1.2", "1.6"): lambda request: "rename", ("1.7", None): lambda request: "ensure"}
    )
    assert [handler(at(2)), handler(at(6)), handler(at(7))] == ["rename", "rename", "ensure"]
    with pytest.raises(exception.RouteNotFound, match=r"GET of this resource exists from 1\.2; "):
        handler(at(1))
