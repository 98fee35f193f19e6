"""Names of hosts, with and without domains."""

import pytest

from placement_insight.names import UnknownName, uuid_of

ADDRESSES = {"a": "10.0.0.1", "b": "10.0.0.2"}


def test_a_child_whose_name_is_like_that_of_its_host():
    names = {"c": "cn7.gpu0", "h": "CN7.example.org", "o": "cn8"}
    assert uuid_of("cn7", names, "provider", {"h", "o"}) == "h"
    assert uuid_of("cn7.gpu0", names, "provider", {"h", "o"}) == "c"
    with pytest.raises(UnknownName, match=r": cn7.gpu0 \(c\), CN7.example.org \(h\)\.$"):
        uuid_of("cn7", names, "provider")


def test_an_address_is_a_name_without_a_domain():
    assert uuid_of("10.0.0.2", ADDRESSES, "provider") == "b"
    with pytest.raises(UnknownName, match=r"^No provider has the name 10\.0\.0\.3\."):
        uuid_of("10.0.0.3", ADDRESSES, "provider")
