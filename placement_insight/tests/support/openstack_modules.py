"""Imports the modules of all ``openstack`` commands, as the command does each time.

Their entry points are also searched once only, not each time that a command begins in this process
or in a fork of it: that is a third of the time of a command.
"""

import functools
import importlib
import importlib.metadata

import stevedore

from placement_insight.cli.audit import AuditPlacement

_POINTS = importlib.metadata.entry_points()
for group in _POINTS.groups:
    if group.startswith("openstack."):
        for point in _POINTS.select(group=group):
            importlib.import_module(point.module)
# The first parser of a process reads the metadata of all installed packages.
AuditPlacement(None, None).get_parser("")

search = functools.cache(stevedore.ExtensionManager)
for group in _POINTS.groups:
    if group.startswith("openstack."):
        search(group)
stevedore.ExtensionManager = search  # the name that cliff uses
