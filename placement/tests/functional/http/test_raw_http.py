"""Whatever comes over the wire is answered soon, and never as our fault: on each database.

What stands in well-formed bodies and paths is the matter of ``test_hostile_input``.
"""

import json
import re
import socket
from contextlib import suppress

import pytest

from placement.tests.support.processes import ApiProcess

SECONDS = 60
HEADERS = {
    "Host": "localhost",
    "Connection": "close",
    "X-Auth-Token": "nova",
    "X-Roles": "admin,service",
    "OpenStack-API-Version": "placement latest",
}
HOST = "aaaaaaaa-0000-4000-8000-000000000001"
TYPE = {"Content-Type": "application/json"}
MEGABYTE = 2**20
EMOJI = "\N{PILE OF POO}"


@pytest.fixture
def service(database_url, tmp_path):
    (tmp_path / "placement.conf").write_text(
        f"[placement_database]\nconnection = {database_url}\n[api]\nauth_strategy = noauth2\n"
    )
    with ApiProcess(tmp_path, "--port", "0", OS_PLACEMENT_CONFIG_DIR=str(tmp_path)) as service:
        service.get()
        yield service


@pytest.fixture
def send(service):
    """Return a function that sends bytes, and returns all that comes back in time."""
    host, port = service.url.removeprefix("http://").split(":")

    def send(*pieces):
        response = b""
        with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
            with suppress(OSError):  # the server has already refused to read more
                for piece in pieces:
                    connection.sendall(piece)
                connection.shutdown(socket.SHUT_WR)
            with suppress(ConnectionError):
                while received := connection.recv(2**16):
                    response += received
        return response

    return send


def head(method, path, **headers):
    lines = [f"{name}: {value}" for name, value in (HEADERS | headers).items()]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode("latin-1")


def written(method, path, body, **headers):
    headers = TYPE | {"Content-Length": len(body)} | headers
    return head(method, path, **headers) + body


def status(answer):
    """Return the status of the one answer; 0 if the connection was ended without any."""
    statuses = re.findall(rb"HTTP/1\.[01] (\d{3}) ", answer)
    assert len(statuses) <= 1, answer[:2000]
    return int(statuses[0]) if statuses else 0


def detail(answer):
    document = json.loads(answer.partition(b"\r\n\r\n")[2])
    return document["errors"][0]["detail"].split("\n")[-1].strip()


def provider(name="host", **more):
    return json.dumps({"name": name, **more}).encode()


PROVIDERS = "/resource_providers"
CHUNKED = {"Transfer-Encoding": "chunked"}
BODY = provider(uuid=HOST)
IN_PIECES = b"".join(b"%x\r\n%s\r\n" % (1, BODY[at : at + 1]) for at in range(len(BODY)))
REQUESTS = {
    "a body shorter than said": (
        written("POST", PROVIDERS, BODY, **{"Content-Length": 5000}),
        {0, 400},
    ),
    "a body longer than said": (
        written("POST", PROVIDERS, BODY, **{"Content-Length": len(BODY) - 1}),
        {400},
    ),
    "a body of no length": (written("POST", PROVIDERS, BODY, **{"Content-Length": ""}), {400}),
    "a length that is none": (
        written("POST", PROVIDERS, BODY, **{"Content-Length": "ten"}),
        {400},
    ),
    "a negative length": (written("POST", PROVIDERS, BODY, **{"Content-Length": -1}), {400}),
    "an endless length": (
        written("POST", PROVIDERS, BODY, **{"Content-Length": 10**30}),
        {400, 413},
    ),
    "a body in pieces": (
        head("POST", PROVIDERS, **TYPE, **CHUNKED) + IN_PIECES + b"0\r\n\r\n",
        {200},
    ),
    "pieces that end early": (head("POST", PROVIDERS, **TYPE, **CHUNKED) + b"40\r\n{", {0, 400}),
    "pieces of no length": (head("POST", PROVIDERS, **TYPE, **CHUNKED) + b"x\r\n{}", {0, 400}),
    "a megabyte of name": (written("POST", PROVIDERS, provider("x" * MEGABYTE)), {400}),
    "a megabyte of nesting": (written("POST", PROVIDERS, b"[" * MEGABYTE), {400}),
    "a megabyte of nested objects": (
        written("POST", PROVIDERS, b'{"a":' * (MEGABYTE // 5) + b"1" + b"}" * (MEGABYTE // 5)),
        {400},
    ),
    "a megabyte of digits": (
        written("POST", PROVIDERS, b'{"name": %s}' % (b"9" * MEGABYTE)),
        {400},
    ),
    "a megabyte of keys": (
        written(
            "POST", PROVIDERS, json.dumps({f"key{n}": n for n in range(MEGABYTE // 16)}).encode()
        ),
        {400},
    ),
    "bytes that are no text": (written("POST", PROVIDERS, b'{"name": "\xff\xfe"}'), {400}),
    "UTF-16": (written("POST", PROVIDERS, '{"name": "x"}'.encode("utf-16")), {400}),
    "half a surrogate pair": (written("POST", PROVIDERS, b'{"name": "\\ud83d"}'), {400}),
    "NUL in a text": (written("POST", PROVIDERS, b'{"name": "a\\u0000b"}'), {400}),
    "an emoji": (written("POST", PROVIDERS, provider(EMOJI)), {200, 400}),
    "a key twice": (written("POST", PROVIDERS, b'{"name": "a", "name": "b"}'), {200}),
    "a megabyte of query": (head("GET", f"{PROVIDERS}?name={'x' * MEGABYTE}"), {431}),
    "many parameters": (
        head("GET", f"/allocation_candidates?{'resources=VCPU:1&' * 10000}"),
        {414},
    ),
    "many groups": (
        head(
            "GET",
            "/allocation_candidates?group_policy=none&"
            + "&".join(f"resources{n}=VCPU:1" for n in range(1, 2000)),
        ),
        {200, 400},
    ),
    "many traits": (
        head(
            "GET",
            f"{PROVIDERS}?required=in:" + ",".join(f"CUSTOM_{n}" for n in range(4000)),
        ),
        {400},
    ),
    "many aggregates": (
        head("GET", f"{PROVIDERS}?member_of=in:" + ",".join([HOST] * 1500)),
        {200},
    ),
    "many names of traits": (
        head("GET", "/traits?name=in:" + ",".join(f"CUSTOM_{n}" for n in range(4000))),
        {200},
    ),
    "a query that is no text": (head("GET", f"{PROVIDERS}?name=%ff%fe"), {400}),
    "a query of raw bytes": (head("GET", f"{PROVIDERS}?name=\xff\xfe"), {400}),
    "NUL in a query": (head("GET", f"{PROVIDERS}?name=%00"), {400}),
    "an emoji in a query": (head("GET", f"{PROVIDERS}?name=%F0%9F%92%A9"), {200, 400}),
    "an emoji as a project": (head("GET", "/usages?project_id=%F0%9F%92%A9"), {200}),
    "a path that is no text": (head("GET", "/traits/%ff%fe"), {404}),
    "a new name that is no text": (head("PUT", "/traits/CUSTOM_%ff"), {400}),
    "a path of raw bytes": (head("GET", "/traits/\xff\xfe"), {400, 404}),
    "NUL in a path": (head("GET", "/traits/%00"), {404}),
    "a surrogate in a path": (head("GET", "/traits/%ed%a0%bd"), {404}),
    "an emoji in a path": (head("GET", "/traits/%F0%9F%92%A9"), {404}),
    "a path out of the service": (head("GET", "/../../etc/passwd"), {400, 404}),
    "a megabyte of path": (head("GET", f"/traits/{'x' * MEGABYTE}"), {431}),
    "a version twice": (
        head("GET", "/traits").replace(
            b"\r\n\r\n", b"\r\nOpenStack-API-Version: placement 1.6\r\n\r\n"
        ),
        {200},
    ),
    "a method that is none": (head("PONY", "/traits"), {405}),
    "no method": (b"\r\n\r\n\r\n", {0, 400}),
    "no HTTP": (b"pony\r\n\r\n", {0, 400}),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)), {0, 400}),
}


def test_anything_is_answered_and_the_service_goes_on(send):
    wrong = {
        name: response[:500]
        for name, (request, expected) in REQUESTS.items()
        if status(response := send(request)) not in expected
    }
    assert wrong == {}
    for name in ("\N{SNOWMAN}", "\u00e9", EMOJI, "\u202e", "%", "'; DROP TABLE traits"):
        assert_kept_or_refused(send, name)


def assert_kept_or_refused(send, name):
    """A text that a database cannot keep is refused; it is never changed."""
    response = send(written("POST", PROVIDERS, provider(name)))
    if status(response) == 200:
        assert json.loads(response.partition(b"\r\n\r\n")[2])["name"] == name
    else:
        assert status(response) in {400, 409}
        assert detail(response)


@pytest.mark.parametrize("backend", ["sqlite"])
def test_what_was_refused_or_not_read_is_not_the_next_request(send):
    keep = {"Connection": "keep-alive"}
    after_refusal = send(written("POST", PROVIDERS, b"no JSON", **keep), head("GET", PROVIDERS))
    assert re.findall(rb"HTTP/1\.[01] (\d{3}) ", after_refusal) == [b"400", b"200"]
    smuggled = head("DELETE", f"{PROVIDERS}/{HOST}")
    after_body = send(written("GET", PROVIDERS, smuggled, **keep), head("GET", PROVIDERS))
    assert re.findall(rb"HTTP/1\.[01] (\d{3}) ", after_body) == [b"200", b"200"]
