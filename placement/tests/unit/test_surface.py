"""Add-ons: found by their entry point, one at most, and none is needed."""

from importlib.metadata import EntryPoint
from unittest import mock

import pytest

from placement import conf, handler, policies, surface
from placement.surface import Surface
from placement.tests.support.stub_service import configured


class Other(Surface):
    pass


def found(*values):
    points = [EntryPoint(str(number), value, surface.GROUP) for number, value in enumerate(values)]
    with mock.patch.object(surface, "entry_points", return_value=points):
        return surface_installed.__wrapped__()


surface_installed = surface.installed
OTHER = f"{__name__}:Other"


def test_without_an_add_on_nothing_is_brought():
    assert type(found()) is Surface
    assert handler.all_routes() == handler.ROUTE_DECLARATIONS
    assert policies.list_rules() == (*policies.RULES, *policies.OPERATIONS)
    assert conf.all_groups() == conf.GROUPS
    assert "insight" not in configured()


def test_an_add_on_is_found_by_its_entry_point():
    assert type(found(OTHER)) is Other


def test_an_entry_point_without_its_package_is_no_add_on():
    assert type(found("no_such_package.surface:Any")) is Surface


def test_a_broken_add_on_is_an_error():
    with pytest.raises(ModuleNotFoundError):
        found("placement.no_such_module:Any")


def test_several_add_ons_are_refused():
    with pytest.raises(RuntimeError, match=r"Several add-ons are installed: .*Uninstall all but"):
        found(OTHER, OTHER)
