"""Imports the modules of ``openstack`` commands and of authentication, as each command does.

Their entry points are also searched once only, not each time that a command begins in this process
or in a fork of it: that is a third of the time of a command.
"""

import functools
import importlib
import importlib.metadata
from contextlib import suppress

import stevedore

from placement_insight.cli.audit import AuditPlacement

_POINTS = importlib.metadata.entry_points()
for group in _POINTS.groups:
    if group.startswith("openstack.") or group == "keystoneauth1.plugin":
        for point in _POINTS.select(group=group):
            # a plugin whose library is not installed, such as lxml, which keystoneauth1 then uses
            with suppress(ImportError, AttributeError):
                importlib.import_module(point.module)
# The first parser of a process reads the metadata of all installed packages.
AuditPlacement(None, None).get_parser("")

search = functools.cache(stevedore.ExtensionManager)
for group in _POINTS.groups:
    if group.startswith("openstack."):
        search(group)
stevedore.ExtensionManager = search  # the name that cliff uses
