"""Imports modules of libraries when they are first used, not when a library imports them.

``importlib.util.LazyLoader`` does the same, but before Python 3.12.3 a thread may see a module
that another thread is still loading.
"""

import sys
import threading
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

# It compiles 430 regular expressions, which mask passwords in the debug messages of policy checks:
# 45 ms of the start-up of a process.
PASSWORD_MASKS = "oslo_utils.strutils"  # noqa: S105

_REPLACING = threading.Lock()


class DeferredModule(ModuleType):
    """Stands for a module until one of its attributes is read."""

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the module, which is imported at the first call."""
        with _REPLACING:  # not during the import, which may wait for imports of other threads
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def defer(name: str) -> None:
    """Import a module of a package at its first use, unless it is imported already.

    The module must not be a package: its submodules could be imported before it.
    """
    if name in sys.modules:
        return
    package, _, attribute = name.rpartition(".")
    module = DeferredModule(name)
    module.__spec__ = find_spec(name)
    sys.modules[name] = module
    setattr(sys.modules[package], attribute, module)
