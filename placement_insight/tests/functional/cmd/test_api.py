"""What the operator surface brings to ``placement-api``."""

import json
import re

import pytest

from placement.tests.functional.cmd.test_api import logged_reads
from placement.tests.support.processes import ApiProcess


def test_the_address_of_the_page_is_printed(tmp_path):
    with ApiProcess(tmp_path, "--development", "--port", "0") as service:
        assert service.get("/insight/page/")[0] == 200
    assert re.search(
        r"^The dashboard is at http://127.0.0.1:\d+/insight/page/$",
        service.output.read_text(),
        re.MULTILINE,
    )


def test_the_files_of_the_page_are_not_logged(tmp_path):
    with ApiProcess(tmp_path, "--development", "--port", "0") as service:
        for path in ("/insight/page/", "/resource_providers"):
            assert service.get(path, **{"X-Auth-Token": "admin"})[0] == 200
    assert logged_reads(service) == ["/resource_providers"]


def test_the_demo_cloud_has_hosts_refusals_and_findings(tmp_path):
    with ApiProcess(tmp_path, "--development", "--demo", "30", "--port", "0") as service:
        documents = [
            json.loads(service.get(f"/insight/{name}", **{"X-Auth-Token": "admin"})[1])[name]
            for name in ("providers", "requests", "findings", "changes")
        ]
    providers, recorded, findings, changes = documents
    kinds = {each["kind"] for each in recorded}
    assert len(providers) > 30
    assert kinds == {"no_candidates", "invalid_request", "refused_claim"}
    assert {each["reason"] for each in recorded if each["kind"] == "refused_claim"} == {"capacity"}
    assert findings
    assert [each["kind"] for each in changes] == ["traits", "traits"]
    with ApiProcess(tmp_path, "--development", "--demo", "30", "--port", "0") as service:
        service.get("/")
    assert "the demo cloud is not written" in service.output.read_text()


@pytest.mark.long
def test_the_log_of_development_mode_has_no_reads_of_the_page(tmp_path):
    token = {"X-Auth-Token": "admin"}
    with ApiProcess(tmp_path, "--development", "--port", "0") as service:
        assert service.get("/insight/providers", **token)[0] == 200
        assert service.get("/insight/providers?limit=x", **token)[0] == 400
        assert service.get("/resource_providers?name=x", **token)[0] == 200
    assert logged_reads(service) == ["/insight/providers?limit=x", "/resource_providers?name=x"]
