"""The unsuffixed group: each class from some provider, of the tree or shared with it."""

from placement.tests.support.queries import listed, offered, served, snapshot_of

SHARED = snapshot_of("""
    cn1      MEMORY_MB=16384  @rack1  +CUSTOM_HOST
      numa0  VCPU=4           +HW_CPU_X86_AVX2
    cn2      MEMORY_MB=16384  VCPU=4  DISK_GB=10
    ss1      DISK_GB=1000     @rack1  +MISC_SHARES_VIA_AGGREGATE +CUSTOM_RAID
""")


def test_sharing_provider_completes_the_tree():
    assert offered(SHARED, "resources=VCPU:2,DISK_GB:10") == [
        {"cn2": {"DISK_GB": 10, "VCPU": 2}},
        {"numa0": {"VCPU": 2}, "ss1": {"DISK_GB": 10}},
    ]


def test_a_share_alone_satisfies_what_it_can():
    assert offered(SHARED, "resources=DISK_GB:10") == [
        {"cn2": {"DISK_GB": 10}},
        {"ss1": {"DISK_GB": 10}},
    ]


def test_a_class_is_never_split():
    assert offered(SHARED, "resources=DISK_GB:1005") == []


def test_required_traits_may_be_spread_over_the_contributing_providers():
    query = "resources=VCPU:1,DISK_GB:10&required=HW_CPU_X86_AVX2,CUSTOM_RAID"
    assert offered(SHARED, query) == [{"numa0": {"VCPU": 1}, "ss1": {"DISK_GB": 10}}]


def test_who_contributes_nothing_lends_no_trait():
    assert offered(SHARED, "resources=VCPU:1,DISK_GB:10&required=CUSTOM_HOST") == []


def test_a_forbidden_trait_bars_a_contributor_only():
    assert offered(SHARED, "resources=VCPU:1&required=!CUSTOM_HOST") == [
        {"cn2": {"VCPU": 1}},
        {"numa0": {"VCPU": 1}},
    ]


def test_the_aggregates_of_the_root_span_its_tree():
    assert offered(SHARED, "resources=VCPU:1&member_of=@rack1") == [{"numa0": {"VCPU": 1}}]
    assert listed(SHARED, "resources=VCPU:1&member_of=@rack1") == []


def test_forbidden_aggregates_of_the_root_span_too():
    assert offered(SHARED, "resources=VCPU:1&member_of=!@rack1") == [{"cn2": {"VCPU": 1}}]


def test_in_tree_shuts_shares_out():
    assert offered(SHARED, "resources=VCPU:1,DISK_GB:10&in_tree=$cn1") == []
    assert offered(SHARED, "resources=VCPU:1&in_tree=$numa0") == [{"numa0": {"VCPU": 1}}]


def test_root_required_is_about_the_top_of_the_tree():
    assert offered(SHARED, "resources=VCPU:1&root_required=CUSTOM_HOST") == [
        {"numa0": {"VCPU": 1}}
    ]
    assert offered(SHARED, "resources=VCPU:1&root_required=!CUSTOM_HOST") == [{"cn2": {"VCPU": 1}}]


def test_mappings_name_each_contributor_once():
    assert served(SHARED, "resources=VCPU:1,MEMORY_MB:1&in_tree=$cn1") == [{"": "cn1 numa0"}]
    assert served(SHARED, "resources=VCPU:1,MEMORY_MB:1&in_tree=$cn2") == [{"": "cn2"}]


def test_shares_meet_at_a_root_that_gives_nothing():
    snapshot = snapshot_of("""
        hub    @x @y
        disks  DISK_GB=100      @x  +MISC_SHARES_VIA_AGGREGATE
        addrs  IPV4_ADDRESS=10  @y  +MISC_SHARES_VIA_AGGREGATE
    """)
    assert offered(snapshot, "resources=DISK_GB:5,IPV4_ADDRESS:1") == [
        {"addrs": {"IPV4_ADDRESS": 1}, "disks": {"DISK_GB": 5}}
    ]


def test_before_1_29_no_two_providers_of_one_tree():
    assert offered(SHARED, "resources=VCPU:1,MEMORY_MB:1", (1, 28)) == [
        {"cn2": {"MEMORY_MB": 1, "VCPU": 1}}
    ]


def test_each_place_where_shares_meet_counts():
    share = "+MISC_SHARES_VIA_AGGREGATE"
    snapshot = snapshot_of(f"""
        hub1    @a @b
        disks1  DISK_GB=100      @a {share}
        addrs1  IPV4_ADDRESS=10  @b {share}
        hub2    @c @d
        disks2  DISK_GB=100      @c {share}
        addrs2  IPV4_ADDRESS=10  @d {share}
        hub3    @c @d
    """)
    assert served(snapshot, "resources=DISK_GB:5,IPV4_ADDRESS:1") == [
        {"": "addrs1 disks1"},
        {"": "addrs2 disks2"},
    ]


def test_in_tree_excludes_sharing_providers_of_that_tree_elsewhere():
    snapshot = snapshot_of("""
        cn  VCPU=4 @x
        ss  DISK_GB=9 @x +MISC_SHARES_VIA_AGGREGATE
    """)
    query = "resources=DISK_GB:1&resources_A=VCPU:1&group_policy=none"
    assert len(offered(snapshot, query)) == 1
    assert offered(snapshot, f"{query}&in_tree=$ss") == []


def test_a_sharing_provider_is_itself_in_the_requested_aggregates():
    snapshot = snapshot_of("""
        cn  VCPU=4 @x @y
        ss  DISK_GB=9 @x +MISC_SHARES_VIA_AGGREGATE
    """)
    query = "resources=VCPU:1,DISK_GB:1"
    assert offered(snapshot, f"{query}&member_of=@y") == []
    assert len(offered(snapshot, f"{query}&member_of=@x")) == 1


def test_traits_count_where_the_unsuffixed_group_is_served_not_a_suffixed_one():
    snapshot = snapshot_of("""
        cn    MEMORY_MB=1
          a   VCPU=1    +CUSTOM_T2 +CUSTOM_T3
          b   VCPU=1    +CUSTOM_T1
          c   DISK_GB=1 +CUSTOM_T1 +CUSTOM_B
          d   DISK_GB=1 +CUSTOM_T2 +CUSTOM_T3
          e   DISK_GB=1
    """)
    query = "resources=VCPU:1,DISK_GB:1&required=CUSTOM_T1,CUSTOM_T2,CUSTOM_T3"
    groups = "resources_A=VCPU:1&resources_B=DISK_GB:1&required_B=CUSTOM_B&group_policy=none"
    assert served(snapshot, f"{query}&{groups}") == [{"": "b d", "_A": "a", "_B": "c"}]
