"""Lines are equal to those of oslo.log, for all records and options."""

import logging
import sys

import pytest
from oslo_config import cfg
from oslo_context import context
from oslo_context.fixture import ClearRequestContext
from oslo_log import log
from oslo_log.formatters import ContextFormatter

from placement.wsgi.log_formatter import RequestFormatter, install

CREATED = 1763798400.25


@pytest.fixture(autouse=True)
def no_context():
    with ClearRequestContext():
        yield


def options(**overrides):
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    conf([], default_config_files=[], default_config_dirs=[])
    for name, value in overrides.items():
        conf.set_override(name, value)
    return conf


def formatters(**overrides):
    conf = options(**overrides)
    original = ContextFormatter(
        project="placement", version="unknown", datefmt=conf.log_date_format, config=conf
    )
    return original, RequestFormatter(original)


def record(level=logging.INFO, message="%s status: %s", arguments=("GET /", "200"), **fields):
    one = logging.LogRecord("placement.requestlog", level, "f.py", 1, message, arguments, None)
    one.created, one.msecs, one.relativeCreated = CREATED, 250.0, 1000.0
    one.__dict__.update(fields)
    return one


def line_of(formatter, one):
    try:
        return formatter.format(one)
    except TypeError as error:  # as oslo.log raises it for arguments that do not match
        return f"{error}, {one.msg}"


def failure():
    try:
        int("reason")
    except ValueError:
        return sys.exc_info()


def caller(**attributes):
    return context.RequestContext(
        request_id="req-1", user_id="u", project_id="p", roles=["r"], **attributes
    )


CONTEXTS = {
    "none": lambda: None,
    "empty": lambda: context.RequestContext(request_id="req-2"),
    "caller": lambda: caller(
        auth_token="secret", user_name="Ann", project_name="Demo", global_request_id="req-g"
    ),
    "scopes": lambda: caller(domain_id="d", user_domain_id="ud", project_domain_id="pd"),
    "resource": lambda: caller(resource_uuid="r1"),
}
RECORDS = {
    "info": record,
    "debug": lambda: record(logging.DEBUG),
    "warning": lambda: record(logging.WARNING),
    "failure": lambda: record(exc_info=failure()),
    "stack": lambda: record(stack_info="Stack (most recent call last):"),
    "wrong arguments": lambda: record(arguments=("one",)),
    "no arguments": lambda: record(message="100 %", arguments=()),
    "instance": lambda: record(instance_uuid="i1"),
    "color": lambda: record(color="\033[00;36m", resource="[r] "),
    "context": lambda: record(context=caller(user_name="other")),
    "whole second": lambda: record(created=float(int(CREATED))),
}
OPTIONS = {
    "defaults": {},
    "identity": {"logging_user_identity_format": "%(user)-5s|%(roles)s|%%|%(missing)s"},
    "times": {"logging_context_format_string": "%(isotime)s %(request_id)s %(message)s"},
    "summary": {"logging_context_format_string": "%(message)s %(error_summary)s"},
    "date": {"log_date_format": "%d/%b/%Y %H:%M:%S %z"},
    "names": {
        "logging_context_format_string": "%(asctime)s %(version)s %(project)s %(user_name)s "
        "%(auth_token)s %(color)s%(levelname)s %(resource)s%(instance)s%(message)s"
    },
    "without time": {"logging_context_format_string": "%(funcName)s %(process)d %(message)s"},
}


@pytest.mark.parametrize("overrides", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("make_record", RECORDS.values(), ids=RECORDS)
@pytest.mark.parametrize("make_context", CONTEXTS.values(), ids=CONTEXTS)
def test_lines_and_fields_are_those_of_oslo_log(make_context, make_record, overrides):
    make_context()
    original, formatter = formatters(**overrides)
    expected, actual = make_record(), make_record()
    assert line_of(formatter, actual) == line_of(original, expected)
    set_by_both = actual.__dict__.keys() & expected.__dict__.keys() - {"context", "exc_info"}
    assert [vars(actual)[name] for name in set_by_both] == [
        vars(expected)[name] for name in set_by_both
    ]
    assert expected.__dict__.keys() - actual.__dict__.keys() <= {"isotime"}


def test_the_line_of_a_response_is_formatted_here(monkeypatch):
    caller()
    _, formatter = formatters()
    monkeypatch.delattr(ContextFormatter, "format")
    assert formatter.format(record()).endswith("[None req-1 u p - - - -] GET / status: 200")


def test_a_record_of_two_handlers_has_the_same_line_twice():
    caller()
    _, formatter = formatters()
    one = record()
    assert formatter.format(one) == formatter.format(one)


def test_the_time_changes_with_the_second():
    caller()
    original, formatter = formatters()
    lines = [formatter.format(record(created=CREATED + seconds)) for seconds in (0, 0.5, 1, 0)]
    assert lines[0] == lines[1] == lines[3] != lines[2]
    assert lines[2] == original.format(record(created=CREATED + 1))


@pytest.fixture
def root():
    """The root logger; its handlers are restored."""
    logger = logging.getLogger()
    handlers, logger.handlers = logger.handlers, []
    yield logger
    logger.handlers = handlers


@pytest.mark.parametrize("use_json", [False, True])
def test_formatters_for_json_stay(root, use_json):
    log.setup(options(use_json=use_json), "placement")
    install()
    assert [isinstance(one.formatter, RequestFormatter) for one in root.handlers] == [not use_json]
