"""The contents of a snapshot, and what a changed one shares with it."""

from dataclasses import replace

from placement.core.model import MAX_INT, Inventory
from placement.core.snapshot.columns import MAX_FREE
from placement.core.snapshot.entries import CHUNK
from placement.tests.support.provider_tables import snapshot_of_states
from placement.tests.support.queries import offered, snapshot_of
from placement.tests.support.worlds import provider_uuid, world

CLOUD = snapshot_of("""
    cn1      VCPU=4  @rack1 +CUSTOM_A
      numa0  VGPU=1
    cn2      VCPU=4
""")
CN1, NUMA0, CN2 = (CLOUD.state(provider_uuid(name)) for name in ("cn1", "numa0", "cn2"))


def test_states_are_found_by_uuid():
    assert CN1.provider.name == "cn1"
    assert CLOUD.state("nobody") is None
    assert CLOUD.size == 3


def test_equal_parts_are_kept_once():
    assert CN1.inventories is CN2.inventories


def test_a_claim_changes_one_column_only():
    after = CLOUD.apply([replace(CN2, used={"VCPU": 3})])
    assert after.forest is CLOUD.forest
    assert after.traits is CLOUD.traits
    assert after.columns["VGPU"] is CLOUD.columns["VGPU"]
    assert offered(after, "resources=VCPU:2") == [{"cn1": {"VCPU": 2}}]
    assert len(offered(CLOUD, "resources=VCPU:2")) == 2


def test_a_change_in_a_tree_discards_the_text_of_its_root():
    root, new_root = (CLOUD.forest.row_of[state.provider.uuid] for state in (CN1, CN2))
    CLOUD.entries.get(root).tree_text = b"cn1 and numa0"
    CLOUD.entries.get(new_root).tree_text = b"cn2"
    used = replace(NUMA0, used={"VGPU": 1})
    moved = replace(NUMA0, provider=replace(NUMA0.provider, parent_uuid=CN2.provider.uuid))
    for changed, removed in (([used], []), ([moved], []), ([], [NUMA0.provider.id])):
        after = CLOUD.apply(changed, removed)
        assert after.entries.get(after.forest.row_of[CN1.provider.uuid]).tree_text is None
        other = after.entries.get(after.forest.row_of[CN2.provider.uuid])
        assert other.tree_text == (None if moved in changed else b"cn2")
    other = CLOUD.apply([replace(CN2, used={"VCPU": 1})])
    assert other.entries.get(root).tree_text == b"cn1 and numa0"
    assert other.entries.get(new_root).tree_text is None


def test_providers_are_added_moved_and_removed():
    new = world("a\nb\nc\nd\n  cn3 VCPU=4")[-1]
    child = replace(new, provider=replace(new.provider, parent_uuid=CN2.provider.uuid))
    grown = CLOUD.apply([child])
    assert len(grown.forest.members(grown.forest.row_of[CN2.provider.uuid])) == 2
    moved = grown.apply(
        [replace(child, provider=replace(child.provider, parent_uuid=CN1.provider.uuid))]
    )
    assert len(moved.forest.members(moved.forest.row_of[CN1.provider.uuid])) == 3
    assert moved.forest.is_single[moved.forest.row_of[CN2.provider.uuid]]
    removed = moved.apply([], [child.provider.id, 99])
    assert removed.state(child.provider.uuid) is None
    assert removed.size == 3


def with_parent(state, parent):
    return replace(state, provider=replace(state.provider, parent_uuid=parent))


def test_a_child_returns_to_its_parent_that_was_created_again_with_another_id():
    """Between two refreshes the child was a root: only then its parent can be removed."""
    again = replace(CN1, provider=replace(CN1.provider, id=9))
    after = CLOUD.apply([again, NUMA0], [CN1.provider.id])
    assert offered(after, "resources=VCPU:1,VGPU:1") == [
        {"cn1": {"VCPU": 1}, "numa0": {"VGPU": 1}}
    ]


def test_a_child_returns_to_its_parent_whose_id_another_provider_has_now():
    """As SQLite assigns ids."""
    again = replace(CN1, provider=replace(CN1.provider, id=9))
    other = world("cn3 VCPU=4")[0]
    assert other.provider.id == CN1.provider.id
    after = CLOUD.apply([other, again, NUMA0], [CN1.provider.id])
    assert offered(after, "resources=VCPU:1,VGPU:1") == [
        {"cn1": {"VCPU": 1}, "numa0": {"VGPU": 1}}
    ]


def test_a_removed_provider_that_was_never_known_changes_nothing():
    after = CLOUD.apply([replace(CN2, used={"VCPU": 3})], [99])
    assert after.forest is CLOUD.forest


def test_providers_created_again_are_in_the_order_of_their_ids():
    again = replace(CN1, provider=replace(CN1.provider, id=9))
    after = CLOUD.apply([again], [CN1.provider.id]).apply([with_parent(NUMA0, CN2.provider.uuid)])
    assert [state.provider.name for state in after.states()] == ["cn2", "numa0", "cn1"]


def test_a_provider_that_was_removed_and_created_again_with_its_id_stays():
    after = CLOUD.apply([replace(CN1, used={"VCPU": 1})], [CN1.provider.id])
    assert after.state(CN1.provider.uuid).used == {"VCPU": 1}
    assert len(after.forest.members(after.forest.row_of[CN1.provider.uuid])) == 2


def test_a_provider_uses_the_sharing_providers_of_its_new_aggregates():
    before = snapshot_of("cn VCPU=1 @a\nss DISK_GB=1 @b +MISC_SHARES_VIA_AGGREGATE")
    host, share = (before.state(provider_uuid(name)) for name in ("cn", "ss"))
    after = before.apply([replace(host, aggregates=share.aggregates)])
    query = "resources=VCPU:1,DISK_GB:1"
    assert offered(before, query) == []
    assert offered(after, query) == [{"cn": {"VCPU": 1}, "ss": {"DISK_GB": 1}}]


def test_a_provider_that_was_removed_can_be_created_again():
    snapshot = CLOUD.apply([], [CN2.provider.id]).apply([CN2])
    other = world("a\nb\nc\nd\ncn3 VCPU=4")[-1]
    grown = snapshot.apply([other])
    assert grown.size == len(set(grown.forest.row_of.values())) == 4
    assert {state.provider.name for state in grown.states()} == {"cn1", "numa0", "cn2", "cn3"}


def test_masks_of_a_snapshot_that_grew_have_its_size():
    before = snapshot_of("cn VCPU=1 +CUSTOM_A")
    assert len(offered(before, "resources=VCPU:1&required=CUSTOM_A")) == 1
    states = world("\n".join(f"cn{n} VCPU=1" for n in range(CHUNK + 1)))
    grown = before.apply(states[1:])
    assert grown.size == CHUNK + 1
    assert len(offered(grown, "resources=VCPU:1&required=CUSTOM_A")) == 1


def test_a_changed_inventory_has_its_own_units_and_the_snapshot_before_keeps_its():
    inventory = Inventory(8, min_unit=2, max_unit=4, step_size=2)
    after = CLOUD.apply([replace(CN2, inventories={"VCPU": inventory})])
    before_column, column = CLOUD.columns["VCPU"], after.columns["VCPU"]
    at = column.rows.tolist().index(CLOUD.forest.row_of[CN2.provider.uuid])
    assert column.max_unit[at] == 4
    assert column.unit_rules[column.unit_rule[at]] == (2, 2)
    assert before_column.max_unit[at] == MAX_INT
    assert before_column.unit_rules[before_column.unit_rule[at]] == (1, 1)
    assert column.free[at] == 8
    assert column.admitting(4, after.size).sum() == 2
    assert column.admitting(6, after.size).sum() == 1
    assert before_column.free[at] == 4


def test_equal_inventories_with_other_usage_differ_in_one_change():
    after = CLOUD.apply([replace(CN1, used={"VCPU": 1}), replace(CN2, used={"VCPU": 3})])
    assert sorted(after.columns["VCPU"].allocatable.tolist()) == [1, 3]


def test_equal_inventories_of_every_second_provider():
    one, other = Inventory(8, min_unit=2, max_unit=4, step_size=2), Inventory(9)
    states = world("a VCPU=1\nb VCPU=1\nc VCPU=1\nd VCPU=1")
    column = snapshot_of_states(
        replace(state, inventories={"VCPU": inventory})
        for state, inventory in zip(states, [one, other, one, other], strict=True)
    ).columns["VCPU"]
    assert column.rows.tolist() == [0, 1, 2, 3]
    assert column.allocatable.tolist() == [4, 9, 4, 9]
    assert column.max_unit.tolist() == [4, MAX_INT, 4, MAX_INT]
    assert column.free.tolist() == [8, 9, 8, 9]
    unit_rules = [column.unit_rules[number] for number in column.unit_rule]
    assert unit_rules == [(2, 2), (1, 1), (2, 2), (1, 1)]


def test_a_new_inventory_leaves_the_free_amounts_of_the_others():
    first, _, last = states = world("a VCPU=1\nb DISK_GB=2\nc VCPU=3")
    both = replace(states[1], inventories={"VCPU": Inventory(2)})
    after = snapshot_of_states([first, states[1], last]).apply([both])
    assert after.columns["VCPU"].free.tolist() == [1, 2, 3]


def test_rows_are_in_the_order_of_ids():
    states = world("a VCPU=1\n  b VCPU=1\n  c VCPU=1\nd VCPU=1")
    forest = snapshot_of_states(reversed(states)).forest
    assert [forest.uuids[row] for row in range(4)] == [provider_uuid(name) for name in "abcd"]


def test_the_largest_amount_that_the_api_accepts_fits():
    snapshot = snapshot_of_states([replace(CN2, inventories={"VCPU": Inventory(MAX_INT)})])
    assert offered(snapshot, f"resources=VCPU:{MAX_INT}") == [{"cn2": {"VCPU": MAX_INT}}]


def test_an_inventory_that_moves_to_another_class_leaves_the_first():
    one, other = (
        replace(CN1, inventories={"VGPU": Inventory(3)}),
        replace(CN2, inventories={"VCPU": Inventory(9)}),
    )
    after = CLOUD.apply([one, other])
    assert offered(after, "resources=VCPU:1") == [{"cn2": {"VCPU": 1}}]
    assert offered(after, "resources=VGPU:2") == [{"cn1": {"VGPU": 2}}]


def test_sets_of_aggregates_that_no_tree_has_are_removed():
    snapshot = snapshot_of_states([CN2])
    for number in range(9):
        snapshot = snapshot.apply([replace(CN2, aggregates=frozenset({f"aggregate {number}"}))])
    assert len(snapshot.tree_aggregates.aggregates) == 1


def test_two_providers_that_exchange_their_ids_are_both_found():
    """Both were removed and created again in the other order, on a database that reuses ids."""
    one, other = (snapshot_of("a VCPU=1\nb VCPU=2").state(provider_uuid(name)) for name in "ab")
    exchanged = [
        replace(one, provider=replace(one.provider, id=other.provider.id)),
        replace(other, provider=replace(other.provider, id=one.provider.id)),
    ]
    after = snapshot_of_states([one, other]).apply(exchanged)
    assert [after.state(provider_uuid(name)) for name in "ab"] == exchanged
    assert offered(after, "resources=VCPU:1") == [{name: {"VCPU": 1}} for name in "ab"]
    for name in "ab":
        query = f"resources=VCPU:1&in_tree={provider_uuid(name)}"
        assert offered(after, query) == [{name: {"VCPU": 1}}]


def test_trees_grow_whatever_the_order_of_their_members():
    states = world("cn\n  numa\n    dev")
    upside_down = [
        replace(state, provider=replace(state.provider, id=9 - state.provider.id))
        for state in states
    ]
    snapshot = snapshot_of_states(upside_down)
    root = snapshot.forest.row_of[provider_uuid("cn")]
    members = snapshot.forest.members(root)
    assert [snapshot.state(snapshot.forest.uuids[row]).provider.name for row in members] == [
        "cn",
        "numa",
        "dev",
    ]


def test_capacities_beyond_32_bits_are_clipped_to_what_one_may_get():
    huge = Inventory(MAX_INT, allocation_ratio=1e30)
    snapshot = snapshot_of_states([replace(CN2, inventories={"VCPU": huge}, used={"VCPU": 2**40})])
    assert snapshot.columns["VCPU"].allocatable.tolist() == [MAX_INT]
    assert snapshot.columns["VCPU"].free.tolist() == [MAX_FREE]


def test_free_capacity_ignores_max_unit_and_is_never_negative():
    inventory = Inventory(8, max_unit=2, allocation_ratio=2.0)
    before = snapshot_of_states([replace(CN2, inventories={"VCPU": inventory}, used={"VCPU": 3})])
    assert before.columns["VCPU"].free.tolist() == [13]
    changed = replace(CN2, inventories={"VCPU": inventory}, used={"VCPU": 20})
    assert before.apply([changed]).columns["VCPU"].free.tolist() == [0]


def test_children_of_a_removed_provider_become_roots():
    snapshot = snapshot_of("cn VCPU=1\n  n0 VCPU=1\n    d0 VCPU=1")
    parent = snapshot.state(provider_uuid("cn"))
    assert parent is not None
    after = snapshot.apply([], removed=[parent.provider.id])
    row = after.forest.row_of[provider_uuid("n0")]
    assert after.forest.is_root.item(row)
    assert len(after.forest.members(row)) == 2
    assert after.forest.parent.item(row) == -1


def test_children_of_a_removed_provider_use_the_sharing_providers_of_their_aggregates():
    snapshot = snapshot_of("""
        cn    VCPU=1
          n0  VCPU=1 @x
        ss    DISK_GB=9 @x +MISC_SHARES_VIA_AGGREGATE
    """)
    parent = snapshot.state(provider_uuid("cn"))
    after = snapshot.apply([], removed=[parent.provider.id])
    assert offered(after, "resources=VCPU:1,DISK_GB:1") == [
        {"n0": {"VCPU": 1}, "ss": {"DISK_GB": 1}}
    ]


def test_a_tree_loses_the_aggregates_of_a_provider_that_moved():
    snapshot = snapshot_of("""
        cn1   VCPU=1
          n0  MEMORY_MB=1 @x
        cn2   MEMORY_MB=1
        ss    DISK_GB=9 @x +MISC_SHARES_VIA_AGGREGATE
    """)
    query = "resources=VCPU:1,DISK_GB:1"
    assert offered(snapshot, query) == [{"cn1": {"VCPU": 1}, "ss": {"DISK_GB": 1}}]
    n0, cn2 = (snapshot.state(provider_uuid(name)) for name in ("n0", "cn2"))
    parent = cn2.provider.uuid
    moved = replace(n0, provider=replace(n0.provider, parent_uuid=parent, root_uuid=parent))
    assert offered(snapshot.apply([moved]), query) == []


def test_members_of_a_tree_are_parents_first_and_siblings_by_id():
    states = world("cn VCPU=1\n  n0 VCPU=1\n    d0 VCPU=1\n  n1 VCPU=1\n  n2 VCPU=1")
    snapshot = snapshot_of_states(states[:2]).apply(states[2:])
    forest = snapshot.forest
    names = [
        snapshot.entries.state(row).provider.name
        for row in forest.members(forest.row_of[provider_uuid("cn")])
    ]
    assert names == ["cn", "n0", "d0", "n1", "n2"]
