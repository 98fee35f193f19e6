"""The API scenarios: the gabbi files of the functional tests."""

import unittest
from functools import cache
from pathlib import Path

import jsonpath_ng.ext
import yaml
from gabbi import handlers, suitemaker
from gabbi.handlers.jsonhandler import JSONHandler

GABBITS = Path(__file__).parents[1] / "functional" / "gabbits"


def scenarios(folder=GABBITS):
    """Return the paths of the files; each is one scenario, which starts with an empty database."""
    return sorted(folder.glob("*.yaml"))


def suite(path, application):
    """Return the test suite of a file, with its requests sent to a WSGI application."""
    return suitemaker.test_suite_from_dict(
        unittest.TestLoader(),
        path.stem,
        yaml.load(path.read_bytes(), yaml.CSafeLoader),  # ten times faster than that of gabbi
        str(path.parent),
        host=path.stem,
        port=None,
        fixture_module=None,
        intercept=lambda: application,
        handlers=[_HANDLERS.get(handler, handler)() for handler in handlers.RESPONSE_HANDLERS],
    )


class _JsonHandler(JSONHandler):
    """The handler of gabbi, but it parses each JSON path once."""

    @staticmethod
    def extract_json_path_value(data, path):
        match [match.value for match in _json_path(path).find(data)]:
            case []:
                raise ValueError(f"The JSON path {path!r} is not in {data!r}.")
            case [value]:
                return value
            case values:
                return values


_HANDLERS = {JSONHandler: _JsonHandler}
_json_path = cache(jsonpath_ng.ext.parse)


def failures(result):
    """Return the failed tests of a result, a line of text each."""
    return "\n".join(
        f"{type(case).__name__}: {traceback.partition('AssertionError: ')[2] or traceback}"
        for case, traceback in result.failures + result.errors
    )
