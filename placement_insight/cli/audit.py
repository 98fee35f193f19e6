"""``openstack placement audit``."""

import argparse
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import Any

from osc_lib.command import command

from placement.core.text import Names
from placement_insight.audit import command as audit_command
from placement_insight.audit.consumers.model import ListedConsumer
from placement_insight.audit.finding import NOTICE, Commands, Finding
from placement_insight.audit.kinds import Audit, in_order
from placement_insight.audit.live_consumers import NO_LIST, LiveFindings, live_findings
from placement_insight.audit.model import FOUND, AuditedProviders
from placement_insight.audit.names import LostParent
from placement_insight.audit.text import (
    Group,
    by_provider,
    cause_of,
    overview_text,
    rows_text,
    summary,
)
from placement_insight.audit.trees import OfTree
from placement_insight.audit.usage import MissingConsumer
from placement_insight.cli import client
from placement_insight.cli.cells import Shown, cells
from placement_insight.cli.client import get
from placement_insight.cli.command import Table, WrittenOutput, given, is_table
from placement_insight.cli.names import CommandNames
from placement_insight.documents import Response
from placement_insight.fitted_tables import fitted_lines
from placement_insight.hosts import COMPUTE_NODE, DISABLED
from placement_insight.page.feed import change_token

_COLUMNS = ("code", "severity", "rows", "cause", "repair", "repair_command")
_PAGE = 10_000


class AuditPlacement(WrittenOutput, command.Lister):
    """Report inconsistent data in the database of Placement, such as orphaned allocations.

    Repairs have two steps: --plan writes a file, and ``placement-manage audit --apply FILE`` on an
    API host applies the file and writes an undo file. At a terminal, the findings are grouped by
    code; --code lists the rows of one.
    """

    important: Sequence[str] = ("rows", "code", "cause", "severity")
    _overview = ""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        audit_command.add_arguments(parser)
        parser.add_argument(
            "--plan",
            metavar="<file>",
            help="Write the actions that repair the findings, for "
            "placement-manage audit --apply on an API host.",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        stored = self._stored(parsed_args)
        live = self._live(parsed_args, stored.findings) if parsed_args.live else NO_LIST
        codes = parsed_args.code
        programs = Commands(openstack=client.program(self.app))
        commands = audit_command.commands(
            parsed_args, programs, f"{programs.openstack} placement audit"
        )
        names = self._names_of_providers() if live.findings else {}
        findings = [
            each.listed(each.names or names, commands)
            for each in in_order((*stored.findings, *live.findings))
            if not codes or each.code in codes
        ]
        found = any(finding.severity != NOTICE for finding in findings)
        skipped = [
            row for row in (*stored.skipped, *live.skipped) if not codes or row.code in codes
        ]
        if parsed_args.plan:
            found |= self._write_plan(findings, parsed_args)
        self.exit_status = FOUND if found else 0
        groups = by_provider(findings)
        if is_table(parsed_args) and not codes and self.app.stdout.isatty():
            fit = partial(fitted_lines, output=self.app.stdout)
            self._overview = overview_text(
                findings, stored.truncated, skipped, commands.in_use, fit
            )
            return (), ()
        if len(codes) == 1:  # the code and its severity are in the summary
            self.important = ("rows", "cause")
        self.note(*summary(groups, stored.truncated, skipped))
        if parsed_args.formatter == "table":
            names = self._names(findings)
            return _COLUMNS, [_row(group, names) for group in groups]
        return _COLUMNS, [_row([finding], {}) for finding in findings]

    def produce_output(
        self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Any
    ) -> int:
        """Write the rows, or the overview at a terminal.  Returns: 0."""
        if self._overview:
            self.app.stdout.write(f"{self._overview}\n")
            return 0
        return super().produce_output(parsed_args, column_names, data)

    def _names(self, findings: Iterable[Finding]) -> Names:
        """Return the names of the consumers that are servers, and of their projects."""
        names = CommandNames(self.app)
        consumers = {str(each.rows["consumer"]) for each in findings if "consumer" in each.rows}
        return {**names.servers(consumers), **(names.projects if consumers else {})}

    def _stored(self, arguments: argparse.Namespace) -> Audit:
        """Return the findings that need no list of live consumers."""
        query = given(arguments, ("grace_minutes", "stale_days"))
        return Audit.from_json(get(self.app, "/findings", query))

    @cached_property
    def _feed(self) -> Response:
        """All providers, with the token that contains the epoch of the database."""
        fields = "uuid,name,parent_provider_uuid,aggregates"
        return get(self.app, "/providers", {"fields": fields})

    def _names_of_providers(self) -> Names:
        return {provider["uuid"]: provider["name"] for provider in self._feed["providers"]}

    def _with_trait(self, trait: str) -> set[str]:
        """Return the UUIDs of the providers with a trait."""
        listed = get(self.app, "/providers", {"required": trait, "fields": "uuid"})
        return {provider["uuid"] for provider in listed["providers"]}

    def _live(self, arguments: argparse.Namespace, stored: Sequence[Finding]) -> LiveFindings:
        """Return the findings from a list of live consumers.

        ``stored`` are the findings of the service, whose feed lacks providers without a root.
        """
        names, providers = self._names_of_providers(), self._feed["providers"]
        faulty = {str(each.provider.uuid): each for each in stored if isinstance(each, OfTree)}
        parents = {provider["uuid"]: provider["parent_provider_uuid"] for provider in providers}
        audited = AuditedProviders(
            {**{uuid: each.provider.name for uuid, each in faulty.items()}, **names},
            {},
            self._with_trait(COMPUTE_NODE) & names.keys(),
            {provider["uuid"]: provider["aggregates"] for provider in providers},
            self._with_trait(DISABLED),
            {each.consumer for each in stored if isinstance(each, MissingConsumer)},
            faulty.keys() - names.keys(),
            {str(each.provider.uuid) for each in stored if isinstance(each, LostParent)},
        ).in_trees({**parents, **{uuid: each.expected_parent for uuid, each in faulty.items()}})
        consumers = map(ListedConsumer.from_json, client.consumers(self.app, {"limit": _PAGE}))
        manager = self.app.client_manager
        return live_findings(consumers, audited, arguments, lambda: manager.sdk_connection)

    # --- plans --------------------------------------------------------------------------

    def _write_plan(self, findings: Iterable[Finding], arguments: argparse.Namespace) -> bool:
        """Write the plan; return whether it has actions."""
        # Actions have SQL, and each command of `openstack` imports this module.
        from placement_insight.audit.repair.plan_file import apply_command, write_plan  # noqa: PLC0415

        database = str(change_token.epoch(self._feed["token"]))
        planned = write_plan(arguments.plan, database, findings, arguments.code)
        self.note(planned.text(arguments.plan))
        if planned.actions:
            apply = f"To apply them on an API host: {apply_command(arguments.plan)}"
            self.note(apply, is_command=True)
        return bool(planned.actions)


def _row(group: Group, names: Names) -> list[object]:
    """Return the cells of a finding, or of those of a provider; in a table, rows are a line."""
    finding = group[0]
    rows = Shown(finding.as_json()["rows"], lambda _: rows_text(group))
    said = (cause_of(group), finding.repair, finding.repair_command)
    return cells((finding.code, finding.severity, rows, *said), names)
