"""All scenarios on SQLite, where every response conforms to the OpenAPI document."""

import functools
import gzip
import json
import re
import unittest

import jsonschema
import pytest

import openapi
from openapi.version_range import VersionRange
from placement import microversion
from placement.tests.support.scenarios import failures, scenarios, suite
from placement_insight.tests.functional.scenarios import GABBITS

VERSION = "openstack-api-version"


@functools.cache
def description(version):
    parsed = microversion.parse(version)
    return openapi.document(VersionRange(parsed, parsed))


def operation(version, method, path):
    """Return the described operation of a request, None if there is none."""
    for declared, item in description(version)["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", declared), path):
            return item.get(method.lower())
    return None


def response_in(version, operation, status):
    response = operation["responses"].get(str(status))
    if response and "$ref" in response:
        name = response["$ref"].rpartition("/")[2]
        return description(version)["components"]["responses"][name]
    return response


def deviations(version, operation, status, headers, body):
    """Yield the deviations of a response from its description."""
    response = response_in(version, operation, status)
    if response is None:
        yield f"{status} is not described"
        return
    content = response.get("content", {})
    kind = headers.get("content-type", "").partition(";")[0]
    if (kind or None) not in (content or {None}):
        yield f"{kind or 'no body'} is not described"
    elif kind == "application/json":
        validator = jsonschema.Draft202012Validator(content[kind]["schema"])
        yield from (error.message for error in validator.iter_errors(json.loads(body)))


class CheckedApplication:
    """An application whose responses are compared with their description."""

    def __init__(self, application):
        self.application = application
        self.checked = 0
        self.deviations = []

    def __call__(self, environ, start_response):
        started = []

        def start(status, headers, error=None):
            started[:] = int(status[:3]), {name.lower(): value for name, value in headers}
            return start_response(status, headers, error)

        parts = self.application(environ, start)
        body = b"".join(parts)
        getattr(parts, "close", bool)()  # the service records the request after its response
        status, headers = started
        text = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
        self.check(environ["REQUEST_METHOD"], environ["PATH_INFO"], status, headers, text)
        return [body]

    def check(self, method, path, status, headers, body):
        version = headers.get(VERSION, "").removeprefix("placement ")
        described = version and operation(version, method, path)
        if described:
            self.checked += 1
            differences = deviations(version, described, status, headers, body)
            self.deviations += [f"{method} {path} at {version}: {text}" for text in differences]


@pytest.fixture(scope="module")
def backend():
    """``test_responses`` has the others."""
    return "sqlite"


# the tests share the descriptions of the microversions
@pytest.mark.xdist_group("openapi")
@pytest.mark.parametrize("path", [*scenarios(), *scenarios(GABBITS)], ids=lambda path: path.stem)
def test_scenario_and_its_responses(path, application):
    checked = CheckedApplication(application)
    result = unittest.TestResult()
    suite(path, checked).run(result)
    assert result.testsRun
    assert not failures(result)
    assert checked.deviations == []
    assert checked.checked
