"""The schemas themselves: valid in the drafts that tools know, and ordered by version."""

import importlib
import pkgutil

import jsonschema
import pytest

from placement import schemas
from placement.schemas.base import Windows


def all_windows():
    for module in pkgutil.iter_modules(schemas.__path__, "placement.schemas."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if is_windows(value) and not name.startswith("_"):
                yield pytest.param(value, id=f"{module.name}.{name}")


def is_windows(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], tuple)


@pytest.mark.parametrize("windows", list(all_windows()))
@pytest.mark.parametrize("draft", [jsonschema.Draft4Validator, jsonschema.Draft202012Validator])
def test_a_schema_is_one_in_old_and_new_drafts(windows: Windows, draft):
    for _, schema in windows:
        draft.check_schema(schema)


@pytest.mark.parametrize("windows", list(all_windows()))
def test_versions_follow_each_other(windows: Windows):
    versions = [since for since, _ in windows]
    assert versions == sorted(set(versions))
