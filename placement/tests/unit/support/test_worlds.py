"""Pictures say what they show."""

import pytest

from placement.core.model import Inventory
from placement.tests.support.worlds import aggregate_uuid, provider_uuid, world


def test_a_world_has_trees_inventories_traits_and_aggregates():
    cn1, numa0, ss1 = world("""
        cn1      MEMORY_MB=16384  @rack1
          numa0  VCPU=4(used=2, reserved=1,ratio=2.0,min=1,max=4,step=1)  +HW_CPU_X86_AVX2
        ss1      DISK_GB=1000     @rack1  # no trait
    """)
    assert [cn1.provider.name, cn1.provider.id, cn1.provider.parent_uuid] == ["cn1", 1, None]
    assert numa0.provider.parent_uuid == numa0.provider.root_uuid == provider_uuid("cn1")
    assert numa0.inventories == {"VCPU": Inventory(4, 1, 1, 4, 1, 2.0)}
    assert numa0.used == {"VCPU": 2}
    assert numa0.traits == {"HW_CPU_X86_AVX2"}
    assert cn1.aggregates == ss1.aggregates == {aggregate_uuid("rack1")}
    assert ss1.provider.root_uuid == ss1.provider.uuid


@pytest.mark.parametrize("word", ["VCPU", "VCPU=x", "VCPU=4(color=1)"])
def test_what_cannot_be_read_is_refused(word):
    with pytest.raises(ValueError, match="VCPU"):
        world(f"cn1 {word}")
