"""The sentences of changes that no request of the API makes, or seldom."""

import pytest

from placement.core.changes import (
    AllocationsChange,
    InventoryChange,
    ProviderChange,
    RepairChange,
)
from placement_insight.history.model import OtherChange
from placement_insight.history.words import sentence

NAMES = {"u1": "cn1", "u2": "gpu"}
ROOT = {"name": "cn1", "parent_provider_uuid": None}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (ProviderChange("u1", "cn1", ROOT, None), "cn1: deleted"),
        (
            ProviderChange("u2", "gpu", {**ROOT, "parent_provider_uuid": "u1"}, ROOT),
            "gpu: moved from cn1 to the top",
        ),
        (
            ProviderChange("u2", "gpu", ROOT, {"name": "gpu", "parent_provider_uuid": "u9"}),
            "gpu: renamed from cn1; moved to u9",
        ),
        (
            InventoryChange("u1", "cn1", {"VCPU": {"total": 4}}, {"VCPU": None}),
            "cn1: VCPU removed",
        ),
        (
            AllocationsChange("c", "MIGRATION", {"u1": {"VCPU": 1}}, {"u2": {"VGPU": 1}}),
            "migration c: moved from cn1 (VCPU 1) to gpu (VGPU 1)",
        ),
        (
            AllocationsChange(
                "c", "X", {"u1": {"VCPU": 1}, "u2": {"VGPU": 1}}, {"u1": {}, "u2": {"VGPU": 1}}
            ),
            "consumer c: resized on cn1 (VCPU 1 -> 0)",
        ),
        (RepairChange(None, "make_root"), "repair: make_root"),
        (RepairChange("make_root", None), "repair: undo of make_root"),
        (OtherChange("quota", {"VCPU": 1}, None), "quota: recorded by a later release"),
        (
            InventoryChange("u1", "cn1", {"VCPU": None}, {"VCPU": {"total": 4, "later": 1}}),
            "cn1: VCPU added (total 4, later 1)",
        ),
        (RepairChange(None, "a\x1b[31m"), "repair: a\\x1b[31m"),
    ],
)
def test_sentences(change, text):
    assert sentence(change, NAMES) == text
