"""A deferred module is imported by the first use of it, once."""

import importlib
import subprocess
import sys
import threading

import pytest

from placement import deferred_imports

MODULE = """
import time
time.sleep(0.2)
executions = globals().get("executions", 0) + 1
value = object()
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a slow module, which is deferred."""
    folder = tmp_path / "deferred_package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "slow.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    deferred_imports.defer("deferred_package.slow")
    yield sys.modules["deferred_package"]
    for name in ("deferred_package.slow", "deferred_package"):
        sys.modules.pop(name, None)


def is_deferred(module):
    return isinstance(module, deferred_imports.DeferredModule)


def test_a_module_is_imported_at_its_first_use(package):
    slow = package.slow
    assert is_deferred(slow)
    assert is_deferred(importlib.import_module("deferred_package.slow"))
    value = slow.value
    imported = sys.modules["deferred_package.slow"]
    assert not is_deferred(imported)
    assert imported.value is value is slow.value
    assert package.slow is imported


def test_threads_that_use_it_first_get_the_same_loaded_module(package):
    values, started = [], threading.Barrier(20)
    slow = package.slow

    def use():
        started.wait()
        values.append(slow.value)

    threads = [threading.Thread(target=use) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(values) == 20
    assert len(set(values)) == 1
    assert slow.executions == 1


def test_a_missing_attribute_and_a_failing_import_are_reported(package, tmp_path):
    with pytest.raises(AttributeError, match=r"deferred_package.slow.*missing"):
        getattr(package.slow, "missing")  # noqa: B009
    (tmp_path / "deferred_package/broken.py").write_text("import does_not_exist")
    importlib.invalidate_caches()
    deferred_imports.defer("deferred_package.broken")
    for _ in range(2):
        with pytest.raises(ImportError, match="does_not_exist"):
            getattr(package.broken, "value")  # noqa: B009


def test_an_imported_module_stays(package):
    loaded = importlib.import_module("deferred_package.slow").value
    deferred_imports.defer("deferred_package.slow")
    assert package.slow.value is loaded
    assert not is_deferred(sys.modules["deferred_package.slow"])


def test_a_process_of_the_service_masks_passwords_when_it_has_to():
    command = """
import sys
import placement.wsgi
from oslo_policy import policy
print(type(policy.strutils).__name__)
print(policy.strutils.mask_dict_password({"password": "secret"}))
"""
    output = subprocess.run(
        [sys.executable, "-c", command], check=True, capture_output=True, text=True
    )
    assert output.stdout == "DeferredModule\n{'password': '***'}\n"
