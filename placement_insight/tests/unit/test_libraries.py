"""Libraries are used by their public names, and their objects are not changed."""

from functools import cache

import pytest

from placement.tests.support.sources import modules_of
from placement.tests.unit.test_libraries import (
    names_in,
    names_replaced,
    objects_changed,
    private_names_used,
)

pytestmark = pytest.mark.xdist_group("sources")  # each process would parse all modules

MODULES = modules_of("placement_insight")

# Objects of libraries that are changed, by module. Each needs a reason.
CHANGES = {
    # a worker that ends calls this function, and with skip-atexit-teardown not those of `atexit`
    "placement_insight.explain.records.recorder": {"uwsgi.atexit"},
}


@cache
def own_names():
    return names_in([*MODULES, *modules_of("placement")])


def test_private_names_of_libraries_are_not_used():
    assert private_names_used(MODULES, own_names()) == {}


def test_private_names_of_library_classes_are_not_replaced():
    assert names_replaced(MODULES) == {}


def test_objects_of_libraries_are_not_changed():
    assert objects_changed(MODULES, own_names()) == CHANGES
