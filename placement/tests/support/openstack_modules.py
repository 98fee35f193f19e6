"""Imports the modules of all ``openstack`` commands, as the command does each time.

Their entry points are also searched, and listed as commands, once only, not each time that a
command begins in this process or in a fork of it: that is half of the time of a command.
"""

import functools
import importlib
import importlib.metadata

import stevedore
from cliff.commandmanager import CommandManager

from placement.cli.audit import AuditPlacement

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


@functools.cache
def commands_of(namespace, ignored_modules):
    """Return the commands of a group."""
    manager = CommandManager(ignored_modules=ignored_modules)
    load(manager, namespace)
    return manager.commands


def load_commands(manager, namespace):
    """Add the commands of a group, as the method of cliff does, but without its log."""
    manager.group_list.append(namespace)
    manager.commands.update(commands_of(namespace, tuple(manager.ignored_modules)))


load, CommandManager.load_commands = CommandManager.load_commands, load_commands
