"""The documented commands that no test runs: why, and what a test checks instead."""

from typing import NamedTuple


class NotExecuted(NamedTuple):
    """Why no test runs a command, and the name of a check in ``test_all_commands``."""

    reason: str
    check: str


_LONG = "it runs the tests or the benchmark: minutes to hours"
_TREE = "it writes a file into the source tree"

_REGISTRY = "it downloads the base image from a container registry, which CI does not reach"
_ENGINE = "the service needs a database server that the network of the container engine reaches"
_IMAGE = "podman run --rm --volume ./placement.conf:/etc/placement/placement.conf:ro placement"

EXCEPTIONS = {
    "podman build --format docker --file packaging/Containerfile --tag placement .": NotExecuted(
        _REGISTRY, "buildah runs"
    ),
    f"{_IMAGE} placement-manage db sync": NotExecuted(_ENGINE, "podman accepts"),
    "podman run --read-only --tmpfs /tmp --publish 8778:8778 --volume"
    " ./placement.conf:/etc/placement/placement.conf:ro placement": NotExecuted(
        _ENGINE, "podman accepts"
    ),
    "make bench": NotExecuted(_LONG, "make accepts"),
    "make bench QUICK=1": NotExecuted(_LONG, "make accepts"),
    "make bench DATABASE=postgresql": NotExecuted(_LONG, "make accepts"),
    "make bench DATABASE=sqlite QUICK=1 RECORD=1": NotExecuted(_LONG, "make accepts"),
    ".venv/bin/python -m bench --only 'claim, 1 client'": NotExecuted(_LONG, "bench accepts"),
    "make bench-growth": NotExecuted(_LONG, "make accepts"),
    ".venv/bin/python -m bench.growth 190000 --record": NotExecuted(_LONG, "bench accepts"),
    ".venv/bin/python -m bench.growth 190000 --database=sqlite": NotExecuted(
        _LONG, "bench accepts"
    ),
    "make bench-random SECONDS=3600 DATABASE=sqlite": NotExecuted(_LONG, "make accepts"),
    "make bench-random SECONDS=3600 DATABASE=mariadb SEED=7": NotExecuted(_LONG, "make accepts"),
    "make test": NotExecuted(_LONG, "make accepts"),
    "make test-long": NotExecuted(_LONG, "make accepts"),
    "make mutants": NotExecuted(_LONG, "make accepts"),
    "make mutants MUTATED=placement_insight/plan/room.py"
    " T=placement_insight/tests/property/test_room.py": NotExecuted(_LONG, "make accepts"),
    "make test-service": NotExecuted(_LONG, "make accepts"),
    "make test T=placement/tests/unit": NotExecuted(_LONG, "make accepts"),
    "make check": NotExecuted(_LONG, "make accepts"),
    "PROPERTY_EXAMPLES=250 make test T=placement/tests/property": NotExecuted(
        _LONG, "make accepts"
    ),
    "PLACEMENT_RANDOM_REQUESTS=1000 make test"
    " T=placement_insight/tests/functional/http/test_random_requests.py": NotExecuted(
        _LONG, "make accepts"
    ),
    "DOCS_SAMPLES=write make test T='placement_insight/tests/functional/docs/test_samples.py"
    " placement_insight/tests/functional/docs/test_no_valid_host.py"
    " placement_insight/tests/functional/docs/test_readme.py'": NotExecuted(_TREE, "make accepts"),
    "reno new short-name-of-the-change": NotExecuted(_TREE, "reno is configured"),
}
