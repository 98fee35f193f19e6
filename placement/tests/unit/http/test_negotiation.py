import pytest

from placement.events import TEMPLATE
from placement.tests.support.stub_service import ADMIN, LATEST, service


@pytest.fixture(scope="module")
def http():
    return service()


def asking(version):
    return ADMIN | {"OpenStack-API-Version": version}


def test_response_has_its_version(http):
    response = http.get("/things/1", headers=asking("placement 1.7"))
    assert response.headers["openstack-api-version"] == "placement 1.7"
    assert response.headers["vary"] == "openstack-api-version"


@pytest.mark.parametrize("path", ["/", "/things/1", "/nowhere"])
def test_a_version_that_is_not_served_is_406_everywhere(http, path):
    response = http.get(path, headers=asking("placement 1.40"), status=406)
    (error,) = response.json["errors"]
    assert "Invalid microversion: Unacceptable version header: 1.40" in error["detail"]
    assert (error["min_version"], error["max_version"]) == ("1.0", "1.39")
    assert "code" not in error
    assert "openstack-api-version" not in response.headers
    assert "vary" not in response.headers


def test_a_version_that_is_none_is_400(http):
    response = http.get("/", headers=asking("placement pony"), status=400)
    detail = response.json["errors"][0]["detail"]
    assert "Invalid microversion: invalid version string: pony" in detail
    assert response.json["errors"][0].keys() == {"status", "title", "detail", "request_id"}


@pytest.mark.parametrize("blank", ["\r\n ", "\r\n\t", "  ", " \t "])
def test_a_folded_header_has_its_version(http, blank):
    """It was read as 1.0."""
    environ = {"HTTP_OPENSTACK_API_VERSION": f"compute 2.1,{blank}placement{blank}1.7{blank}"}
    response = http.get("/things/1", headers=ADMIN, extra_environ=environ, status=200)
    assert response.headers["openstack-api-version"] == "placement 1.7"


def test_a_wrong_version_wins_over_a_wrong_path_and_authentication_over_both(http):
    http.get("/nowhere", headers=asking("placement 9.9"), status=406)
    http.get("/nowhere", headers={"OpenStack-API-Version": "placement 9.9"}, status=401)


def test_a_document_is_encoded_as_ascii(http):
    body = http.get("/things/%E2%98%83", headers=ADMIN).body
    assert body == b'{"uuid": "\\u2603"}'


def test_root_lists_versions(http):
    response = http.get("/")
    assert response.json == {
        "versions": [
            {
                "id": "v1.0",
                "max_version": "1.39",
                "min_version": "1.0",
                "status": "CURRENT",
                "links": [{"rel": "self", "href": ""}],
            }
        ]
    }
    assert "last-modified" not in response.headers
    response = http.get("/", headers=LATEST | {"Accept": "text/html"})
    assert response.content_type == "application/json"
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["last-modified"].endswith("GMT")


@pytest.mark.parametrize(
    "path",
    ["/nowhere", "/things/", "//things", "/Things", "/things/a%2Fb", "/%00", "/%ff"],
)
def test_unknown_paths_are_404(http, path):
    response = http.get(path, headers=LATEST, status=404)
    (error,) = response.json["errors"]
    assert error["detail"].startswith("The resource could not be found.\n\n ")
    assert error["code"] == "placement.undefined_code"
    assert error["title"] == "Not Found"
    assert error["request_id"] == response.headers["x-openstack-request-id"]


def test_unknown_methods_are_405(http):
    response = http.request("/things/1", method="PATCH", headers=ADMIN, status=405)
    assert response.headers["allow"] == "GET, DELETE, PUT"
    detail = response.json["errors"][0]["detail"]
    assert "The method PATCH is not allowed for this resource." in detail
    assert "The method specified is not allowed for this resource." in detail


@pytest.mark.parametrize(("method", "route"), [("GET", "/"), ("PUT", None)])
def test_a_method_without_handler_has_no_route_in_the_metrics(http, method, route):
    """Clients without a token can invent methods; each pair of method and route is a metric."""
    response = http.request("/", method=method, status="*")
    assert response.request.environ.get(TEMPLATE) == route


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_no_method_stands_for_another(http, method):
    response = http.request("/things/1", method=method, headers=ADMIN, status=405)
    assert response.headers["allow"] == "GET, DELETE, PUT"


def test_outside_its_window_a_method_is_404(http):
    http.post("/things", headers=asking("placement 1.1"), status=404)
    http.post("/things", headers=asking("placement 1.6"), status=201)
    http.post("/things", headers=asking("placement 1.7"), status=404)


def test_or_405_without_allow(http):
    response = http.delete("/things/1", headers=asking("placement 1.4"), status=405)
    assert "allow" not in response.headers


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/json", 200),
        ("*/*", 200),
        ("application/*", 200),
        ("text/html, application/json;q=0.1", 200),
        ("", 200),
        ("pony", 200),
        ("text/plain", 406),
        ("application/json;q=0", 406),
    ],
)
def test_json_must_be_accepted(http, accept, status):
    response = http.get("/things/1", headers=ADMIN | {"Accept": accept}, status=status)
    if status == 406:
        assert "Only application/json is provided" in response.text
        assert "max_version" not in response.text


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("*/*", "application/json"),
        ("", "application/json"),
        ("application/json", "application/json"),
        ("text/html", "text/html"),
        ("*/*;q=0.1", "text/html"),
        ("pony", "text/html"),
        ("image/png", "text/plain"),
    ],
)
def test_errors_have_the_accepted_media_type(http, accept, content_type):
    response = http.get("/nowhere", headers=ADMIN | {"Accept": accept}, status=404)
    assert response.content_type == content_type
    assert "The resource could not be found" in response.text


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 204),
        ("application/json; charset=utf-8", 204),
        ("Application/JSON", 415),
        ("text/plain", 415),
    ],
)
def test_body_must_have_media_type_json(http, content_type, status):
    headers = ADMIN | {"Content-Type": content_type}
    response = http.put("/things/1", "{}", headers=headers, status=status)
    if status == 415:
        message = f"The media type {content_type} is not supported, use application/json"
        assert message in response.json["errors"][0]["detail"]


@pytest.mark.parametrize("environ", [{}, {"CONTENT_TYPE": ""}])
def test_no_type_is_called_none(http, environ):
    response = http.request("/things/1", method="PUT", headers=ADMIN, environ=environ, status=415)
    detail = response.json["errors"][0]["detail"]
    assert "The media type None is not supported" in detail
    assert "The request media type None is not supported by this server." in detail


def test_a_body_that_is_not_json_is_malformed(http):
    headers = ADMIN | {"Content-Type": "application/json"}
    response = http.put("/things/1", "pony", headers=headers, status=400)
    assert "Malformed JSON:" in response.json["errors"][0]["detail"]


@pytest.mark.parametrize("query", ["?a=%ff", "?%ff=a", "?project_id=%00", "?a=%ed%a0%80"])
def test_a_query_that_is_not_text_is_400(http, query):
    response = http.get(f"/things{query}", headers=ADMIN, status=400)
    assert "Invalid query string parameters" in response.json["errors"][0]["detail"]


def test_an_answer_without_body_has_no_type(http):
    response = http.post("/things", headers=asking("placement 1.2"), status=201)
    assert response.headers["content-length"] == "0"
    assert "content-type" not in response.headers
    assert response.headers["location"] == "http://localhost/things/a%20b"


def test_a_location_names_the_mount_point():
    response = service().post(
        "/things",
        headers=asking("placement 1.2"),
        extra_environ={"SCRIPT_NAME": "/placement", "HTTP_HOST": "cloud:1234"},
    )
    assert response.headers["location"] == "http://cloud:1234/placement/things/a%20b"
