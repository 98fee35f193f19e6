"""Every answer of the stories in ``gabbits`` is one that the description has."""

import functools
import json
import re
import unittest

import jsonschema
import pytest

from placement import microversion, openapi
from placement.openapi.version_range import VersionRange
from placement.tests.functional.test_api import stories, suite

VERSION = "openstack-api-version"


@functools.cache
def described(version):
    spoken = microversion.parse(version)
    return openapi.document(VersionRange(spoken, spoken))


def operation(version, method, path):
    """Return what the description says of a request, None if it has no such operation."""
    for declared, item in described(version)["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", declared), path):
            return item.get(method.lower())
    return None


def answer_in(version, told, status):
    answer = told["responses"].get(str(status))
    if answer and "$ref" in answer:
        name = answer["$ref"].rpartition("/")[2]
        return described(version)["components"]["responses"][name]
    return answer


def mistakes(version, told, status, headers, body):
    """Yield what is not as described in an answer."""
    answer = answer_in(version, told, status)
    if answer is None:
        yield f"{status} is not described"
        return
    content = answer.get("content", {})
    kind = headers.get("content-type", "").partition(";")[0]
    if (kind or None) not in (content or {None}):
        yield f"{kind or 'no body'} is not described"
    elif kind == "application/json":
        validator = jsonschema.Draft202012Validator(content[kind]["schema"])
        yield from (error.message for error in validator.iter_errors(json.loads(body)))


class Watched:
    """An application, and what in its answers is not as described."""

    def __init__(self, application):
        self.application = application
        self.checked = 0
        self.mistakes = []

    def __call__(self, environ, start_response):
        told = []

        def start(status, headers, error=None):
            told[:] = int(status[:3]), {name.lower(): value for name, value in headers}
            return start_response(status, headers, error)

        body = b"".join(self.application(environ, start))
        self.check(environ["REQUEST_METHOD"], environ["PATH_INFO"], *told, body)
        return [body]

    def check(self, method, path, status, headers, body):
        version = headers.get(VERSION, "").removeprefix("placement ")
        told = version and operation(version, method, path)
        if told:
            self.checked += 1
            found = mistakes(version, told, status, headers, body)
            self.mistakes += [f"{method} {path} at {version}: {text}" for text in found]


@pytest.fixture(scope="module")
def backend():
    """One database is enough: that all answer alike is what the stories test."""
    return "sqlite"


@pytest.mark.parametrize("path", stories(), ids=lambda path: path.stem)
def test_every_answer_is_described(path, application):
    watched = Watched(application)
    suite(path, watched).run(unittest.TestResult())
    assert watched.mistakes == []
    assert watched.checked
