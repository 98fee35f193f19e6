"""Requests made up from the description: their answers are in it, and none is our fault."""

import re
import uuid

import hypothesis
import schemathesis
import webtest
from hypothesis import strategies as some
from schemathesis import GenerationMode
from schemathesis.specs.openapi import checks

import openapi
from openapi.version_range import VersionRange
from placement import microversion
from placement.microversion import MAX_VERSION

CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
PROVIDERS = "/resource_providers"
UUIDS = [str(uuid.UUID(int=number)) for number in range(1, 6)]
NAMES = ["VCPU", "CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX", "INSTANCE"]
QUERY = {
    "group_policy": ["none", "isolate"],
    "limit": ["1", "2"],
    "resources": ["VCPU:1", "VCPU:1,DISK_GB:2", "CUSTOM_A:1"],
    "required": ["HW_CPU_X86_VMX", "!CUSTOM_A", "in:CUSTOM_A,HW_CPU_X86_VMX"],
    "member_of": [UUIDS[0], f"in:{UUIDS[0]},{UUIDS[1]}", f"!{UUIDS[0]}"],
    "in_tree": UUIDS,
    "same_subtree": ["1,2", "_A,_B"],
    "root_required": ["HW_CPU_X86_VMX", "!CUSTOM_A"],
    "name": ["in:CUSTOM_A,VCPU", "startswith:CUSTOM", "host"],
    "associated": ["true", "false"],
    "uuid": UUIDS,
    "fields": ["uuid", "name,inventories"],
    "changed_since": ["yesterday"],
    "by": ["none", "aggregate", "root", "root_trait:HW_"],
    "provider": UUIDS,
    "older_than": ["2026-11-21T02:14:07Z", "2h30m", "yesterday 18:00"],
    "marker": UUIDS,
}
ASK_FOR_CANDIDATES = {"/allocation_candidates", "/insight/capacity", "/insight/explanation"}


def candidates_asked(*always, **optional):
    """Return queries for candidates; each parameter has one of the values that mean something."""
    return some.fixed_dictionaries(
        {name: some.sampled_from(QUERY[name]) for name in always},
        optional={name: some.sampled_from(values) for name, values in optional.items()},
    )


ONE_GROUP = {name: QUERY[name] for name in ("limit", "required", "member_of")}
GROUPS = ONE_GROUP | {name: QUERY[name] for name in ("in_tree", "same_subtree", "root_required")}
SUFFIXED = {f"resources{suffix}": ["VCPU:1"] for suffix in ("1", "2", "_A", "_B")}
CANDIDATES_ASKED = some.one_of(
    candidates_asked("resources", **ONE_GROUP),
    candidates_asked("resources", "group_policy", **GROUPS, **SUFFIXED),
)


def send(version, mode, number, application):
    """Send so many valid (mode "positive") or invalid ("negative") requests of a microversion."""
    spoken = microversion.parse(version)
    schema = schemathesis.openapi.from_dict(openapi.document(VersionRange(spoken, spoken)))
    schema.app = told_by_a_service(application, version)
    populate(webtest.TestApp(told_by_a_service(application, str(MAX_VERSION))))

    @hypothesis.settings(
        max_examples=number,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(
        case=schema.as_strategy(generation_mode=GenerationMode(mode)), data=some.data()
    )
    def ask(case, data):
        make_meaningful(case, data.draw)
        hypothesis.assume(is_of_its_path(case))
        case.call_and_validate(checks=CHECKS)

    ask()


def populate(http):
    """Make a tree of providers that have something of everything."""
    for name in NAMES[1:3]:
        http.put(f"/traits/{name}")
        http.put(f"/resource_classes/{name}")
    for parent, each in zip([None, *UUIDS], UUIDS[:4], strict=False):
        http.post_json(PROVIDERS, {"name": each, "uuid": each, "parent_provider_uuid": parent})
        has = {"VCPU": {"total": 8}, "DISK_GB": {"total": 100, "allocation_ratio": 1.5}}
        of_provider(http, each, "inventories", 0, {"inventories": has})
        of_provider(http, each, "traits", 1, {"traits": ["CUSTOM_A", "HW_CPU_X86_VMX"]})
        of_provider(http, each, "aggregates", 2, {"aggregates": UUIDS[:1]})
    claim = {
        "allocations": {UUIDS[0]: {"resources": {"VCPU": 2}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    http.put_json(f"/allocations/{UUIDS[0]}", claim)


def of_provider(http, provider, noun, generation, document):
    body = {"resource_provider_generation": generation, **document}
    http.put_json(f"{PROVIDERS}/{provider}/{noun}", body)


def told_by_a_service(application, version):
    """Return the application with the headers that decide what a request means."""
    headers = {
        "HTTP_X_AUTH_TOKEN": "nova",
        "HTTP_X_ROLES": "admin,service",
        "HTTP_OPENSTACK_API_VERSION": f"placement {version}",
        "HTTP_ACCEPT_ENCODING": "identity",  # the client that checks answers decodes none
    }

    def told(environ, start_response):
        """Respond as a server: the client that checks answers does not close them."""
        parts = application(environ | headers, start_response)
        try:
            return list(parts)
        finally:
            if hasattr(parts, "close"):
                parts.close()

    return told


def is_of_its_path(case):
    """Return whether a router could take this for the operation that it is made up for."""
    return all(re.fullmatch("[^/\\0]+", str(each)) for each in case.path_parameters.values())


def make_meaningful(case, draw):
    """Let much of what is made up name what there is."""
    for name in case.path_parameters:
        if draw(some.integers(0, 9)) < 9:
            choices = UUIDS if name.endswith("uuid") else NAMES
            case.path_parameters[name] = draw(some.sampled_from(choices))
    if case.path in ASK_FOR_CANDIDATES and draw(some.booleans()):
        case.query = draw(CANDIDATES_ASKED)
    for name in case.query:
        choices = next((QUERY[key] for key in QUERY if name.startswith(key)), None)
        if choices and draw(some.booleans()):
            case.query[name] = draw(some.sampled_from(choices))
    if isinstance(case.body, dict | list) and draw(some.booleans()):
        case.body = meaningful(case.body, draw)


def meaningful(value, draw):
    if isinstance(value, dict):
        return {meaningful_key(key, draw): meaningful(each, draw) for key, each in value.items()}
    if isinstance(value, list):
        return [meaningful(each, draw) for each in value]
    if isinstance(value, str) and is_uuid(value):
        return draw(some.sampled_from(UUIDS))
    if type(value) is int and draw(some.booleans()):
        return draw(some.integers(0, 3))
    return value


def meaningful_key(key, draw):
    if is_uuid(key):
        return draw(some.sampled_from(UUIDS))
    return draw(some.sampled_from(NAMES)) if key.isupper() else key


def is_uuid(text):
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
