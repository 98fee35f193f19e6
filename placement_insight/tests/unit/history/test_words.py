"""The sentences of changes that no request of the API makes, or seldom."""

from datetime import datetime

import pytest

from placement.core.changes import (
    AllocationsChange,
    InventoryChange,
    ProviderChange,
    RepairChange,
)
from placement_insight.history.model import OtherChange, Record
from placement_insight.history.words import handovers, sentence

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
        (
            AllocationsChange("c", None, {"u1": {"VCPU": 1}}, {"u1": {"VCPU": 1}, "u2": {"A": 2}}),
            "consumer c: also placed on gpu (A 2); remains on cn1",
        ),
        (
            AllocationsChange("c", None, {"u1": {"VCPU": 1}, "u2": {"A": 2}}, {"u1": {"VCPU": 1}}),
            "consumer c: released from gpu (A 2); remains on cn1",
        ),
        (
            AllocationsChange("c", None, {"u1": {"VCPU": 1}, "u2": {"A": 2}}, {"u1": {"VCPU": 3}}),
            "consumer c: released from gpu (A 2); resized on cn1 (VCPU 1 -> 3)",
        ),
        (
            AllocationsChange("c", None, {"u1": {"VCPU": 1, "A": 2}}, {"u1": {"VCPU": 3, "A": 2}}),
            "consumer c: resized on cn1 (VCPU 1 -> 3)",
        ),
        (
            AllocationsChange(
                "c",
                None,
                {"u1": {"VCPU": 1}, "ss": {"DISK_GB": 5}},
                {"u2": {"VCPU": 1}, "ss": {"DISK_GB": 5}},
            ),
            "consumer c: moved from cn1 (VCPU 1) to gpu (VCPU 1); remains on ss",
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


ON_CN1, ON_CN2 = {"u1": {"VCPU": 2}}, {"u2": {"VCPU": 2}}


@pytest.mark.parametrize(
    ("request_id", "changes", "added"),
    [
        (
            "req-1",
            [
                AllocationsChange("m", "MIGRATION", {}, ON_CN1),
                AllocationsChange("s", "INSTANCE", ON_CN1, {}),
            ],
            {0: "taken over from server s; ", 1: "handed over to migration m; "},
        ),
        (
            "req-1",
            [
                AllocationsChange("m", None, ON_CN1, {}),
                AllocationsChange("s", None, ON_CN2, ON_CN1),
            ],
            {0: "handed over to consumer s; ", 1: "taken over from consumer m; "},
        ),
        (
            "req-1",
            [AllocationsChange("a", None, ON_CN1, {}), AllocationsChange("b", None, {}, ON_CN2)],
            {},
        ),
        (
            "req-1",
            [
                AllocationsChange("a", None, ON_CN1, {}),
                AllocationsChange("b", None, ON_CN1, {}),
                AllocationsChange("c", None, {}, ON_CN1),
            ],
            {},
        ),
        (
            None,
            [AllocationsChange("a", None, ON_CN1, {}), AllocationsChange("b", None, {}, ON_CN1)],
            {},
        ),
    ],
)
def test_allocations_that_a_request_hands_over(request_id, changes, added):
    author = (datetime(2026, 11, 28), request_id, None, None, None)
    records = [Record(number, *author, change) for number, change in enumerate(changes)]
    assert handovers(records) == added
