"""Any request has a response below 500."""

import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as some

from placement.tests.support.stub_service import application, configured

LATIN = some.text(some.characters(max_codepoint=255), max_size=20)
TEXT = some.one_of(LATIN, some.text(max_size=20))
ENVIRON = some.fixed_dictionaries(
    {
        "REQUEST_METHOD": some.sampled_from(["GET", "PUT", "POST", "HEAD", "OPTIONS", "PONY"]),
        "PATH_INFO": some.one_of(
            some.sampled_from(["", "/", "/things", "/things/1", "/things/\0", "/things/\xff"]),
            TEXT.map(lambda text: f"/things/{text}"),
            TEXT,
        ),
    },
    optional={
        "QUERY_STRING": some.one_of(TEXT, TEXT.map(lambda text: f"project_id={text}")),
        "CONTENT_LENGTH": some.one_of(some.integers().map(str), TEXT),
        "CONTENT_TYPE": some.one_of(some.sampled_from(["application/json", ""]), TEXT),
        "HTTP_ACCEPT": some.one_of(some.sampled_from(["text/html", "*/*", "a/b"]), TEXT),
        "HTTP_OPENSTACK_API_VERSION": some.one_of(
            TEXT, TEXT.map(lambda text: f"placement {text}"), some.just("placement latest")
        ),
        "HTTP_X_ROLES": TEXT,
        "HTTP_X_PROJECT_ID": TEXT,
        "HTTP_X_OPENSTACK_REQUEST_ID": TEXT,
        "HTTP_X_IS_ADMIN_PROJECT": TEXT,
        "REMOTE_ADDR": TEXT,
        "wsgi.input_terminated": some.just(value=True),
    },
)


@pytest.fixture(scope="module")
def service():
    return application(configured())


@given(environ=ENVIRON, token=some.one_of(some.just("admin"), TEXT), body=some.binary())
def test_bad_input_is_never_500(service, environ, token, body):
    statuses = []
    required = {
        "SCRIPT_NAME": "",
        "SERVER_NAME": "service",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_X_AUTH_TOKEN": token,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
    }
    response = service(
        required | environ, lambda status, headers, error=None: statuses.append(status)
    )
    assert b"".join(response) is not None
    assert statuses[0] < "500"
