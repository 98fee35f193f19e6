"""GET /resource_providers: all that is asked holds of the provider itself."""

import pytest

from placement.exception import UnknownResourceClass, UnknownTrait
from placement.tests.support.queries import listed, snapshot_of

CLOUD = snapshot_of("""
    cn1      VCPU=4(used=2) MEMORY_MB=1024 @rack1 +CUSTOM_FAST
      numa0  VCPU=8
    cn2      VCPU=8  @rack1 @rack2
    cn3
""")


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["cn1", "numa0", "cn2", "cn3"]),
        ("name=cn2", ["cn2"]),
        ("name=", ["cn1", "numa0", "cn2", "cn3"]),
        ("name=nobody", []),
        ("uuid=$cn3", ["cn3"]),
        ("uuid=$cn3&name=cn2", []),
        ("resources=VCPU:3", ["numa0", "cn2"]),
        ("resources=VCPU:2,MEMORY_MB:1024", ["cn1"]),
        ("member_of=@rack1", ["cn1", "cn2"]),
        ("member_of=in:@rack2,@nowhere", ["cn2"]),
        ("member_of=@rack1&member_of=!@rack2", ["cn1"]),
        ("member_of=@nowhere", []),
        ("in_tree=$numa0", ["cn1", "numa0"]),
        ("in_tree=$nobody", []),
        ("required=CUSTOM_FAST", ["cn1"]),
        ("required=!CUSTOM_FAST", ["numa0", "cn2", "cn3"]),
        ("required=CUSTOM_FAST&required=!CUSTOM_FAST", []),
    ],
)
def test_filter(query, names):
    assert listed(CLOUD, query) == names


def test_what_is_looked_up_first_hides_later_mistakes():
    assert listed(CLOUD, "in_tree=$nobody&required=CUSTOM_NO&resources=CUSTOM_NO:1") == []
    with pytest.raises(UnknownTrait, match="No such trait"):
        listed(CLOUD, "member_of=@nowhere&required=CUSTOM_NO")
    assert listed(CLOUD, "member_of=@nowhere&resources=CUSTOM_NO:1") == []
    with pytest.raises(UnknownResourceClass, match="CUSTOM_NO"):
        listed(CLOUD, "member_of=@rack1&resources=CUSTOM_NO:1")
