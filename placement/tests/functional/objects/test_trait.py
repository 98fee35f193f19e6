"""Traits, and which providers have them, on each database."""

import os_traits
import pytest

from placement import exception
from placement.objects import trait
from placement.tests.support.factories import generation, new_provider, uuid

VMX, AVX = "HW_CPU_X86_VMX", "HW_CPU_X86_AVX"


def listed(store, **values) -> set:
    return set(trait.list_all(store, **values).names)


def test_standard_traits_exist(store):
    assert listed(store) == set(os_traits.get_traits())


def test_custom_trait_is_created_once(store):
    is_new, names = trait.ensure(store, "CUSTOM_A")
    assert is_new
    assert names.names == ("CUSTOM_A",)
    assert names.modified_at is not None
    assert trait.ensure(store, "CUSTOM_A") == (False, names)
    assert trait.show(store, "CUSTOM_A") == names


@pytest.mark.parametrize("name", ["CUSTOM_A", "NONE", "hw_cpu_x86_vmx"])
def test_missing_trait_is_not_found(store, name):
    with pytest.raises(exception.TraitNotFound):
        trait.show(store, name)
    with pytest.raises(exception.TraitNotFound):
        trait.delete(store, name)


def test_traits_are_listed_by_name(store):
    assert listed(store, names=[VMX, "NONE", "hw_cpu_x86_avx"]) == {VMX}
    assert listed(store, names=[]) == set()


def test_traits_are_listed_by_a_literal_prefix(store):
    for name in ("CUSTOM_A_B", "CUSTOM_AXB"):
        trait.ensure(store, name)
    assert listed(store, prefix="CUSTOM_A_") == {"CUSTOM_A_B"}
    assert listed(store, prefix="CUSTOM%") == set()
    assert listed(store, prefix="custom") == set()
    assert listed(store, prefix="CUSTOM\\") == set()
    assert listed(store, prefix="\U0001f680") == set()
    assert listed(store, prefix="") == listed(store)


def test_traits_are_listed_by_association(store):
    trait.replace(store, new_provider(store), 0, [VMX, AVX])
    trait.replace(store, new_provider(store), 0, [VMX])
    assert trait.list_all(store, associated=True).names in [(VMX, AVX), (AVX, VMX)]
    assert listed(store, associated=False) == listed(store) - {VMX, AVX}
    assert listed(store, associated=True, names=[VMX, "MISC_SHARES_VIA_AGGREGATE"]) == {VMX}
    assert listed(store, associated=True, prefix="HW_CPU_X86_A") == {AVX}


def test_only_custom_traits_can_be_removed(store):
    trait.ensure(store, "CUSTOM_A")
    trait.delete(store, "CUSTOM_A")
    assert "CUSTOM_A" not in listed(store)
    with pytest.raises(exception.StandardTraitNotDeletable):
        trait.delete(store, VMX)


def test_a_trait_in_use_cannot_be_removed(store):
    trait.ensure(store, "CUSTOM_A")
    provider = new_provider(store)
    trait.replace(store, provider, 0, ["CUSTOM_A"])
    sentence = rf"in use by a resource provider\. .* first: 1 in all, among them .*\({provider}\)"
    with pytest.raises(exception.TraitInUse, match=sentence):
        trait.delete(store, "CUSTOM_A")
    trait.clear(store, provider)
    trait.delete(store, "CUSTOM_A")


def test_replace_traits_sets_the_traits(store):
    trait.ensure(store, "CUSTOM_A")
    provider = new_provider(store)
    at, replaced = trait.replace(store, provider, 0, [VMX, "CUSTOM_A", VMX])
    assert set(replaced.names) == {VMX, "CUSTOM_A"}
    assert len(replaced.names) == 2
    assert at == 1
    assert replaced.modified_at is not None
    assert trait.of_provider(store, provider)[1].names == replaced.names
    assert set(trait.replace(store, provider, 1, [AVX, VMX])[1].names) == {AVX, VMX}


def test_generation_increases_only_if_the_set_changes(store):
    provider = new_provider(store)
    trait.clear(store, provider)
    assert trait.replace(store, provider, 0, [])[0] == 0
    assert trait.replace(store, provider, 0, [VMX])[0] == 1
    assert trait.replace(store, provider, 1, [VMX])[0] == 1
    trait.clear(store, provider)
    assert generation(store, provider) == 2
    trait.clear(store, provider)
    assert generation(store, provider) == 2
    assert trait.of_provider(store, provider)[1].names == ()


def test_an_old_generation_is_refused(store):
    provider = new_provider(store)
    with pytest.raises(exception.StaleGenerationPleaseUpdate):
        trait.replace(store, provider, 1, ["NONE"])


def test_unknown_traits_are_named_and_nothing_changes(store):
    provider = new_provider(store)
    unknown = ["NONE", "CUSTOM_NONE", "hw_cpu_x86_vmx"]
    with pytest.raises(exception.TraitsNotFound) as error:
        trait.replace(store, provider, 0, [VMX, *unknown])
    assert set(error.value.names) == set(unknown)
    assert trait.of_provider(store, provider)[1].names == ()
    assert generation(store, provider) == 0


def test_missing_provider_has_no_traits(store):
    for attempt in (
        lambda: trait.of_provider(store, uuid()),
        lambda: trait.replace(store, uuid(), 0, []),
        lambda: trait.clear(store, uuid()),
    ):
        with pytest.raises(exception.ProviderNotFound):
            attempt()
