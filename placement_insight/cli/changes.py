"""``openstack placement changes``: what changed, and which request of which user changed it."""

import argparse

from osc_lib.command import command

from placement_insight.cli.cells import Complete, cells
from placement_insight.cli.client import get
from placement_insight.cli.command import Table, WrittenOutput, add_options, given, is_table
from placement_insight.cli.names import CommandNames
from placement_insight.names import named, uuids_in
from placement_insight.times import FORMS

_OPTIONS = {
    "since": ("--since", "<time>", f"Only changes since this time: {FORMS}."),
    "until": ("--until", "<time>", "Only changes before this time."),
    "in_tree": ("--host", "<provider>", "Only changes of this host and its devices."),
    "provider": ("--provider", "<provider>", "Only changes of this provider, by name or UUID."),
    "consumer": ("--consumer", "<consumer>", "Only changes of this server, by UUID."),
    "project_id": ("--project", "<project>", "Only requests of this project, by name or ID."),
    "request_id": ("--request", "<request-id>", "Only changes of this ID, as nova logs it."),
    "kind": ("--kind", "<kind>", "Only changes of this kind, such as inventory or traits."),
    "limit": ("--limit", "<limit>", "Number of changes to list, at most 1000. Default: 100."),
    "marker": ("--marker", "<marker>", "Begin after the page that reported this marker."),
}
_COLUMNS = ("at", "kind", "text", "user_id", "project_id", "request_id", "global_request_id")
_TABLE_COLUMNS = ("at", "text", "user_id", "request_id")


class ListChanges(WrittenOutput, command.Lister):
    """List what changed, the newest first, with the user and the request.

    $ openstack placement changes --since 1h --host cn1
    """

    important = ("at", "text", "user_id", "request_id")
    nothing = ("No recorded change matches the options.",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_options(parser, _OPTIONS)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        names = CommandNames(self.app)
        query = given(parsed_args, _OPTIONS)
        for name in ("in_tree", "provider"):
            if name in query:
                query[name] = names.provider(query[name])
        if "project_id" in query:
            query["project_id"] = names.project(query["project_id"])
        document = get(self.app, "/changes", query)
        changes = document["changes"]
        if document["complete_since"] is None:
            self.note("The service records no changes: see [insight]history_rows.")
        elif not document["next"]:
            self.note(f"All changes since {document['complete_since']} are recorded.")
        else:
            self.note(f"To list more: --marker {document['next']}")
        if not is_table(parsed_args):
            return _COLUMNS, [cells(row[name] for name in _COLUMNS) for row in changes]
        known = names.servers({row["consumer"]["uuid"] for row in changes if row["consumer"]})
        if any(uuids_in(row["text"]) for row in changes if row["provider"]):
            known = {**names.aggregates, **known}
        for row in changes:
            row["text"] = Complete(row["text"], lambda text: named(text, known))
            row["user_id"] = names.users.get(row["user_id"], row["user_id"])
            row["request_id"] = row["global_request_id"] or row["request_id"]
        return _TABLE_COLUMNS, [cells(row[name] for name in _TABLE_COLUMNS) for row in changes]
