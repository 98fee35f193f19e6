import json

import pytest

from placement_compare.model import Read
from placement_compare.requests import read_log

URI = "/placement/allocation_candidates?resources=VCPU:1&required=in:A,B"
PATH = "/allocation_candidates?resources=VCPU:1&required=in:A,B"
DEFAULT = (1, 39)
MESSAGE = f'10.0.0.1 "GET {URI}" status: 200 len: 671 microversion: 1.36'
LINES = {
    "openstack-placement": "2026-11-21 02:14:07.123 7 INFO placement.requestlog "
    f"[None req-8c2e6f0a-1b3d-4e5f-9a7b-0c1d2e3f4a5b 9e8d 4b1d - - default default] {MESSAGE}",
    "json": json.dumps({"message": MESSAGE, "levelname": "INFO"}),
    "uwsgi": "[pid: 7|app: 0|req: 1/1] 10.0.0.1 () {40 vars in 600 bytes} "
    f"[Sat Nov 21 02:14:07 2026] GET {URI} => generated 671 bytes in 3 msecs "
    "(HTTP/1.1 200) 7 headers in 250 bytes",
    "common": f'10.0.0.1 - - [21/Nov/2026:02:14:07 +0000] "GET {URI} HTTP/1.1" 200 671',
    "combined": "10.0.0.1 - - [21/Nov/2026:02:14:07 +0000] "
    f'"GET {URI} HTTP/1.1" 200 671 "-" "nova-scheduler keystoneauth1"',
}
WITH_MICROVERSION = {"openstack-placement", "json"}


@pytest.mark.parametrize("name", LINES)
def test_each_format_is_read(name):
    version = (1, 36) if name in WITH_MICROVERSION else DEFAULT
    assert list(read_log([LINES[name] + "\n"], DEFAULT)) == [Read(PATH, version)]


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "HEAD"])
def test_other_methods_are_skipped(name, method):
    assert list(read_log([LINES[name].replace("GET", method)], DEFAULT)) == []


@pytest.mark.parametrize(
    "line",
    [
        "",
        "2026-11-21 INFO placement.deploy Starting",
        LINES["common"].replace(URI, "/placement/metrics"),
        LINES["common"].replace(URI, "/identity/v3/users"),
        LINES["openstack-placement"].replace(URI, "/placement/"),
    ],
)
def test_other_lines_are_skipped(line):
    assert list(read_log([line], DEFAULT)) == []


def test_an_unknown_microversion_is_replaced_by_the_default():
    line = LINES["openstack-placement"].replace("1.36", "-")
    assert list(read_log([line], DEFAULT)) == [Read(PATH, DEFAULT)]


@pytest.mark.parametrize("prefix", ["", "/placement", "/a/b"])
def test_the_prefix_of_the_mount_point_is_removed(prefix):
    path = "/resource_providers/6f8a2c14-3d0b-4b5e-9a57-1c2f8e7d9b01/inventories/VCPU"
    line = LINES["common"].replace(URI, prefix + path)
    assert list(read_log([line], DEFAULT)) == [Read(path, DEFAULT)]
