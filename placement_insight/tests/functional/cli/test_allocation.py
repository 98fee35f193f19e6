"""The commands of ``openstack`` that explain, against the service that ``make serve`` starts."""

import pytest

from placement.microversion import MAX_VERSION
from placement.tests.support.processes import ApiProcess
from placement_insight.tests.support.openstack_client import Client, add_host

AGGREGATE = "5e08ea53-c4c6-448e-9334-ac4953de3cfa"
# the tests share one service
pytestmark = pytest.mark.xdist_group("client insight")
NOBODY = "00000000-1111-2222-3333-444444444444"
EXPLAIN = "allocation candidate explain"


@pytest.fixture(scope="module")
def openstack(tmp_path_factory):
    with ApiProcess(tmp_path_factory.mktemp("api"), "--development", "--port", "0") as service:
        service.get()
        add_host(service.url, "host1", VCPU=8)
        add_host(service.url, "host2", traits=["COMPUTE_STATUS_DISABLED"], VCPU=16)
        yield Client(service.url)


def test_a_request_that_does_not_fit_is_explained(openstack):
    explanation = openstack(
        EXPLAIN, "--resource=VCPU=12", "--forbidden=COMPUTE_STATUS_DISABLED", "--remedies"
    )
    assert (explanation["roots"], explanation["fits"]) == (2, 0)
    assert [(row["code"], row["lost"]) for row in explanation["funnel"]] == [
        ("forbidden_trait", 1),
        ("capacity", 1),
    ]
    assert explanation["near_misses"][0]["name"] == "host1"
    assert {remedy["change"] for remedy in explanation["remedies"]} == {"drop", "amount"}
    assert explanation["microversion"] == str(MAX_VERSION)


def test_people_read_a_table(openstack):
    shown = openstack.run(EXPLAIN, "--resource=VCPU=99")
    assert shown.returncode == 0, shown.stderr
    assert "fewer than 99 VCPU free" in shown.stdout
    assert "best: host2 has 16 free" in shown.stdout
    assert "\x1b" not in shown.stdout


def test_groups_and_the_other_parameters_are_those_of_the_api(openstack):
    explanation = openstack(
        EXPLAIN,
        "--resource=VCPU=1",
        f"--member-of={AGGREGATE},{NOBODY}",
        *("--group", "_A", "--resource=VCPU=2", f"--in-tree={NOBODY}"),
        *("--required=HW_CPU_X86_VMX,HW_CPU_X86_AVX2", f"--not-member-of={AGGREGATE}"),
        *("--group", "_B", "--resource=VCPU=3", "--required=HW_CPU_X86_AVX"),
        *("--same-subtree=_A,_B", "--group-policy=isolate"),
        *("--root-required=HW_CPU_X86_AVX", "--root-forbidden=COMPUTE_STATUS_DISABLED"),
    )
    assert dict(pair.split("=") for pair in explanation["query"].split("&")) == {
        "resources": "VCPU:1",
        "member_of": f"in:{AGGREGATE},{NOBODY}",
        "resources_A": "VCPU:2",
        "required_A": "in:HW_CPU_X86_VMX,HW_CPU_X86_AVX2",
        "member_of_A": f"!in:{AGGREGATE}",
        "in_tree_A": NOBODY,
        "resources_B": "VCPU:3",
        "required_B": "HW_CPU_X86_AVX",
        "group_policy": "isolate",
        "root_required": "HW_CPU_X86_AVX,!COMPUTE_STATUS_DISABLED",
        "same_subtree": "_A,_B",
    }


def test_a_query_is_taken_from_a_log_line(openstack):
    explanation = openstack(EXPLAIN, "--query", "/allocation_candidates?resources=VCPU:9&limit=5")
    assert explanation["fits"] == 1


def test_one_host_is_explained(openstack):
    explanation = openstack(EXPLAIN, "--resource=VCPU=12", "--host=host1")
    assert (explanation["host"], explanation["fits"]) == ("host1", False)
    ((lack,),) = [miss["unmet"] for miss in explanation["unmet"]]
    assert lack["text"] == "VCPU 8 of 12"
    table = openstack.run(EXPLAIN, "--resource=VCPU=12", "--host=host2").stdout
    assert "| fits         | True " in table
    assert "of 2 hosts fit. Nova's limit is [scheduler]max_placement_results" in table
    assert "not computed without --remedies" in table
    assert "host3" in openstack.refused(EXPLAIN, "--resource=VCPU=12", "--host=host3")


def test_an_invalid_request_is_shown_with_similar_names(openstack):
    openstack.refused("allocation candidate list", "--resource=VCPUS=1")
    recorded = openstack.recorded(reason="unknown_class")
    assert (recorded["kind"], recorded["request"]) == ("invalid_request", "resources=VCPUS:1")
    table = openstack.run(EXPLAIN, "--request-id", recorded["request_id"]).stdout
    assert "VCPUS does not exist; similar: VCPU" in table
    assert "resources=VCPUS:1" in table


def test_a_recorded_request_is_found_by_its_id(openstack):
    assert openstack("allocation candidate list", "--resource=VCPU=50") == []
    recorded = openstack.recorded(reason="capacity", request="resources=VCPU:50")
    assert recorded["kind"] == "no_candidates"
    explanation = openstack(EXPLAIN, "--request-id", recorded["request_id"])
    assert explanation["reason"] == "capacity"
    assert explanation["funnel"][0]["lost"] == 2
    assert explanation["request_id"] == recorded["request_id"]


def test_a_summary_counts_by_the_hour(openstack):
    assert openstack("allocation candidate list", "--resource=VCPU=50") == []
    openstack.recorded(reason="capacity")
    rows = openstack("allocation request list", "--summary", "--reason=capacity")
    counts = {(row["by"], row["name"]): row for row in rows}
    total = counts["all", ""]
    assert total["requests"] == sum(total["per_hour"]) >= 1
    assert len(total["per_hour"]) == 24
    assert counts["reason", "capacity"]["requests"] == total["requests"]
    assert {("kind", "no_candidates"), ("class", "VCPU"), ("project", "admin")} <= counts.keys()
    shown = openstack.run("allocation request list", "--summary", "--reason=capacity")
    assert "·█" in shown.stdout or "█·" in shown.stdout
    assert "a bar for each hour." in shown.stderr


def test_a_refused_claim_is_shown_with_its_numbers(openstack):
    (row,) = openstack("allocation candidate list", "--resource=VCPU=16")
    owner = ["--project-id=demo", "--user-id=me", "--consumer-type=INSTANCE"]
    claim = f"--allocation=rp={row['resource provider']},VCPU=17"
    openstack.refused("resource provider allocation set", NOBODY, claim, *owner)
    openstack.recorded(kind="refused_claim")
    listed = openstack("allocation request list", "--long")
    (refused,) = (each for each in listed if each["kind"] == "refused_claim")
    of_region = Client("", *openstack.options, "--os-region-name=R")
    document = of_region(EXPLAIN, "--request-id", refused["request_id"])
    assert document["explanation"]["needed"] == 17
    host = document["explanation"]["provider"]["name"]
    assert document["next"] == (
        f"openstack --os-region-name R resource consumer list --in-tree {host} --sort -VCPU"
    )


def test_what_is_wrong_is_said(openstack):
    assert "--resource, --query or --request-id" in openstack.refused(EXPLAIN)
    assert "VCPU=4" in openstack.refused(EXPLAIN, "--resource=VCPU")
    assert "there is no parameter 'VCPU:1'" in openstack.refused(EXPLAIN, "--query=VCPU:1")
    blank = "--query=resources=VCPU:1&required="
    assert "required" in openstack.refused(EXPLAIN, blank)
    assert "CUSTOM_NO" in openstack.refused(EXPLAIN, "--resource=CUSTOM_NO=1")
    assert NOBODY in openstack.refused(EXPLAIN, "--request-id", f"req-{NOBODY}")
