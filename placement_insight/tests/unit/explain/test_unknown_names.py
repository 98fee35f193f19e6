"""The names that are proposed for a name that does not exist."""

import pytest

from placement.core.search.search import check_names
from placement.exception import UnknownClassOrTrait
from placement.tests.support.queries import request_of, snapshot_of
from placement_insight.explain.unknown_names import unknown

TRAITS = ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_CPU_X86_AVX512F", "CUSTOM_GPU_A100"]
CLASSES = ["VCPU", "PCPU", "CUSTOM_BAREMETAL_GOLD", "CUSTOM_BAREMETAL_OLD"]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("resources=vcpu:1", "VCPU"),
        ("resources=CUSTOM_baremetal_gold:1", "CUSTOM_BAREMETAL_GOLD"),
        ("resources=CUSTOM_BAREMETAL.GOLD:1", "CUSTOM_BAREMETAL_GOLD"),
        ("resources=BAREMETAL_GOLD:1", "CUSTOM_BAREMETAL_GOLD"),
        ("resources=VCPU:1&required=hw_cpu_x86_avx2", "HW_CPU_X86_AVX2"),
        ("resources=VCPU:1&root_required=gpu_a100", "CUSTOM_GPU_A100"),
    ],
)
def test_the_same_name_in_other_letters_is_the_first_proposal(query, first):
    snapshot, request = snapshot_of("h VCPU=8", TRAITS, CLASSES), request_of(query)
    with pytest.raises(UnknownClassOrTrait) as caught:
        check_names(snapshot, request)
    (similar,) = unknown(caught.value, snapshot, request).similar.values()
    assert similar[0] == first
