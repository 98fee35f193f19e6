"""Imports the modules of all ``openstack`` commands, as the command does each time."""

import importlib
import importlib.metadata

from placement.cli.audit import AuditPlacement

_POINTS = importlib.metadata.entry_points()
for group in _POINTS.groups:
    if group.startswith("openstack."):
        for point in _POINTS.select(group=group):
            importlib.import_module(point.module)
# The first parser of a process reads the metadata of all installed packages.
AuditPlacement(None, None).get_parser("")
