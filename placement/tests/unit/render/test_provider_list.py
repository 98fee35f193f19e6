"""How providers look as JSON."""

import json

import pytest

from placement.core.model import Provider
from placement.microversion import VERSIONS, Version
from placement.render.resource_provider import provider, provider_list

ROOT = "aaaaaaaa-1111-2222-3333-444444444444"
CHILD = "bbbbbbbb-1111-2222-3333-444444444444"
PROVIDERS = (
    Provider(1, ROOT, 'r\u00f6\u00f6t "1" \\ \U0001f600', 3, None, ROOT),
    Provider(2, CHILD, "child", 0, ROOT, ROOT),
)


def plainly(provider: Provider, version: Version, prefix: str) -> dict[str, object]:
    """Say a provider the long way."""
    path = f"{prefix}/resource_providers/{provider.uuid}"
    links = ["inventories", "usages"]
    links += ["aggregates"] * (version >= (1, 1))
    links += ["traits"] * (version >= (1, 6))
    links += ["allocations"] * (version >= (1, 11))
    shown: dict[str, object] = {
        "uuid": provider.uuid,
        "name": provider.name,
        "generation": provider.generation,
        "links": [{"rel": "self", "href": path}]
        + [{"rel": rel, "href": f"{path}/{rel}"} for rel in links],
    }
    if version >= (1, 14):
        shown["parent_provider_uuid"] = provider.parent_uuid
        shown["root_provider_uuid"] = provider.root_uuid
    return shown


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize("prefix", ["", "/placement", '/q"uote'])
def test_each_version(version, prefix):
    expected = [plainly(each, version, prefix) for each in PROVIDERS]
    assert json.loads(provider_list(PROVIDERS, version, prefix)) == {
        "resource_providers": expected
    }
    assert [json.loads(provider(each, version, prefix)) for each in PROVIDERS] == expected


def test_none():
    assert provider_list((), VERSIONS[-1], "") == b'{"resource_providers":[]}'
