"""A text or list in a request is refused, or read once, before it costs time."""

from dataclasses import replace
from urllib.parse import quote

import pytest
import webtest

from placement.core.snapshot.snapshot import Snapshot
from placement.tests.support.factories import new_provider
from placement_insight.plan import http as plan_http
from placement_insight.tests.functional.plan.test_drain import HEADERS, RACK, claim, configure

pytestmark = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)

MANY = 20_000
LONG = 16_000_000


@pytest.fixture
def http(application):
    return webtest.TestApp(application)


@pytest.fixture
def host(http, store):
    """A host in an aggregate, with traits and a consumer."""
    host = new_provider(store, "cn1", VCPU=8)
    configure(http, host, "aggregates", [RACK])
    configure(http, host, "traits", ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"])
    claim(http, {host: {"VCPU": 1}})
    return host


def post(http, path, status=200, **body):
    return http.post_json(f"/insight/{path}", body, headers=HEADERS, status=status)


def detail(response):
    return response.json["errors"][0]["detail"]


@pytest.mark.parametrize("character", "&a")
def test_a_query_in_a_body_is_as_long_as_one_in_a_url(http, character):
    text = character * LONG
    refused = post(http, "room", 400, query=text)
    assert f"query has {len(text):,} characters; the maximum is 65,536." in detail(refused)


def test_a_query_in_a_body_has_as_many_parameters_as_one_in_a_url(http, host):
    assert post(http, "room", query="resources=VCPU:1" + "&limit=1" * 1999)
    refused = post(http, "room", 400, query="resources=VCPU:1" + "&limit=1" * 2000)
    assert "parameters: more than 2000 of them" in detail(refused)


@pytest.mark.parametrize("separator", "&;")
def test_a_query_in_a_parameter_has_as_many_parameters_as_one_in_a_url(http, host, separator):
    def capacity(count, status):
        shape = quote(f"resources=VCPU:1{f'{separator}limit=1' * count}", safe="=:")
        path = f"/insight/capacity?share=1&shape={shape}"
        return http.get(path, headers=HEADERS, status=status)

    assert capacity(1999, 200).json["claims"] == 7
    assert "parameters: more than 2000 of them" in detail(capacity(2000, 400))


def test_a_query_in_a_body_has_no_text_that_databases_cannot_store(http):
    assert "NUL is not allowed" in detail(post(http, "room", 400, query="resources=VCPU:1%00"))
    refused = post(http, "room", 400, query="resources=VCPU:1&required=%ff")
    assert "'utf-8' codec can't decode" in detail(refused)


@pytest.fixture
def masks_of_hosts(monkeypatch):
    """The computed masks of hosts."""
    computed, hosts = [], Snapshot.hosts.fget
    monkeypatch.setattr(
        Snapshot, "hosts", property(lambda self: computed.append(1) or hosts(self))
    )
    return computed


def test_repeated_prefixes_of_traits_to_keep_are_read_once(http, host, masks_of_hosts):
    post(http, "drain", provider=[host], keep=["traits:HW_CPU"])
    once = len(masks_of_hosts)
    many = ["traits:HW_CPU"] * (MANY - 20) + [
        f"traits:{'HW_CPU_X86_AVX'[:n]}" for n in range(1, 15)
    ]
    post(http, "drain", provider=[host], keep=many)
    assert len(masks_of_hosts) == 2 * once


def test_different_prefixes_of_traits_to_keep_are_refused(http, host):
    kept = [f"traits:CUSTOM_{number}" for number in range(MANY)]
    sentence = "keep has {} values; the maximum is 100. Give fewer."
    assert sentence.format("20,000") in detail(
        post(http, "drain", 400, provider=[host], keep=kept)
    )
    refused = post(http, "room", 400, query="resources=VCPU:99", keep=kept)
    assert sentence.format("20,000") in detail(refused)
    path = f"/insight/survival?keep={'&keep='.join(kept[:1500])}"
    assert sentence.format("1,500") in detail(http.get(path, headers=HEADERS, status=400))


class Counted(dict):
    """Rows by name, which are counted when they are read."""

    reads = 0

    def get(self, name, default=None):
        self.reads += 1
        return super().get(name, default)


@pytest.mark.parametrize(
    ("selector", "names"),
    [("member_of", [RACK, RACK.upper()]), ("root_trait", ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"])],
)
def test_repeated_selectors_are_read_once(http, host, monkeypatch, selector, names):
    rows, selected = [], plan_http.selected
    field = {"member_of": "aggregates", "root_trait": "traits"}[selector]

    def with_counted(snapshot, values):
        rows.append(Counted(getattr(snapshot, field)))
        return selected(replace(snapshot, **{field: rows[0]}), values)

    monkeypatch.setattr(plan_http, "selected", with_counted)
    plan = post(http, "drain", **{selector: names * (MANY // 2)}).json
    assert [each["uuid"] for each in plan["providers"]] == [host]
    assert 1 <= rows[0].reads < 10
