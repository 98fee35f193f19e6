"""The dashboard's files: where they are served, with which headers, and what is passed on."""

import re
import time

import pytest
import webtest

from placement_insight.page.page import STATIC, DashboardMiddleware


def service(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"the service: " + environ["PATH_INFO"].encode()]


@pytest.fixture
def app():
    return webtest.TestApp(DashboardMiddleware(service, {"X-Auth-Token": "admin"}, "RegionOne"))


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("", "text/html"),
        ("dashboard.js", "text/javascript"),
        ("dashboard.css", "text/css"),
        ("icon.svg", "image/svg+xml"),
        ("settings.json", "application/json"),
    ],
)
def test_each_file_is_served_with_a_strict_policy(app, path, content_type):
    response = app.get(f"/insight/page/{path}")
    assert response.content_type == content_type
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_the_settings_hold_the_headers_of_requests_and_the_region(app):
    settings = app.get("/insight/page/settings.json").json
    assert settings == {
        "headers": {"X-Auth-Token": "admin"},
        "region": "RegionOne",
        "has_names": False,
    }


def test_the_address_without_a_slash_redirects_below_the_mount_point(app):
    response = app.get("/insight/page", extra_environ={"SCRIPT_NAME": "/placement"}, status=301)
    assert response.location.endswith("/placement/insight/page/")


@pytest.mark.parametrize("path", ["/", "/insight", "/insight/pages", "/insight/providers"])
def test_other_paths_are_passed_on(app, path):
    assert app.get(path).text == f"the service: {path}"


@pytest.mark.parametrize("path", ["nothing.js", "../page.py", "..%2f..%2fpage.py", "static/"])
def test_files_outside_are_not_found(app, path):
    app.get(f"/insight/page/{path}", status=[403, 404])


def test_only_reads_are_accepted(app):
    response = app.post("/insight/page/", status=405)
    assert response.headers["Allow"] == "GET, HEAD"


def test_a_file_that_is_current_is_not_sent_again(app):
    first = app.get("/insight/page/dashboard.js")
    again = app.get(
        "/insight/page/dashboard.js",
        headers={"If-None-Match": first.headers["ETag"]},
        status=304,
    )
    assert again.body == b""


@pytest.mark.parametrize(
    "header",
    [
        ("Range", "bytes=0-" + "9" * 32_000),
        ("Range", "bytes=" + " " * 60_000),
        ("If-Modified-Since", "Mon, 99 Jan 99999 99:99:99 GMT"),
        ("If-Modified-Since", "Mon, 01 Jan " + "9" * 4_000 + " 00:00:00 GMT"),
    ],
)
def test_malformed_ranges_and_dates_are_ignored(app, header):
    seconds = time.process_time()
    response = app.get("/insight/page/dashboard.js", headers=dict([header]))
    assert response.body == (STATIC / "dashboard.js").read_bytes()
    assert time.process_time() - seconds < 1


def test_the_page_has_no_inline_code_and_names_no_other_host():
    page = (STATIC / "index.html").read_text()
    assert re.findall(r"<script(?![^>]* src=)|<style| on\w+=| style=", page) == []
    assert "//" not in page.replace("<!doctype", "")
