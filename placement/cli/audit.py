"""``openstack placement audit``."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from osc_lib.command import command

from placement.cli import client
from placement.cli.client import Shown, Table, WrittenOutput, cells, get
from placement.cli.names import CommandNames
from placement.insight.audit import command as audit_command
from placement.insight.audit.live_consumers import NO_LIST, LiveFindings, live_findings
from placement.insight.audit.model import COMPUTE_NODE, AuditedProviders, Finding, Skipped
from placement.insight.audit.text import NOTHING_FOUND, by_provider, row_lines
from placement.insight.consumers.model import from_document
from placement.insight.feed import change_token
from placement.insight.names import Names, names_in

Document = dict[str, Any]

_COLUMNS = ("code", "severity", "rows", "cause", "repair", "repair_command")
_PAGE = 10_000


class AuditPlacement(WrittenOutput, command.Lister):
    """Report inconsistent data in the database of Placement, such as orphaned allocations.

    Repairs have two steps: --plan writes a file, and ``placement-manage audit --apply FILE`` on an
    API host applies the file and writes an undo file.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the options."""
        audit_command.add_arguments(parser)
        parser.add_argument(
            "--plan",
            metavar="<file>",
            help="Write the actions that repair the findings, for "
            "`placement-manage audit --apply` on an API host.",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the columns, and a row for each finding; in a table, for each provider."""
        document = self._database(parsed_args)
        live = self._live(parsed_args) if parsed_args.live else NO_LIST
        codes = parsed_args.code
        listed = [*document["findings"], *self._documents(live.findings)]
        findings = [finding for finding in listed if not codes or finding["code"] in codes]
        if parsed_args.plan:
            skipped = [*(Skipped(**row) for row in document["skipped"]), *live.skipped]
            counted = [row for row in skipped if not codes or row.code in codes]
            self._write_plan(findings, counted, parsed_args)
        names: Names = {}
        if not findings:
            self.app.stderr.write(f"{NOTHING_FOUND}\n")
        if parsed_args.formatter == "table":
            findings = list(by_provider(findings))
            names = self._names(findings)
        return _COLUMNS, [
            cells(
                (
                    finding["code"],
                    finding["severity"],
                    _rows(finding),
                    finding["cause"],
                    finding["repair"],
                    finding["repair_command"],
                ),
                names,
            )
            for finding in findings
        ]

    def _names(self, findings: Iterable[Document]) -> Names:
        """Return the names of the consumers that are servers, and of their projects."""
        names = CommandNames(self.app)
        consumers = {finding["rows"].get("consumer") for finding in findings} - {None}
        return {**names.servers(consumers), **(names.projects if consumers else {})}

    def _database(self, arguments: argparse.Namespace) -> Document:
        """Return the findings that need no list of live consumers."""
        query: list[tuple[str, object]] = [("grace_minutes", arguments.grace_minutes)]
        if arguments.stale_days is not None:
            query.append(("stale_days", arguments.stale_days))
        document: Document = get(self.app, f"/insight/findings?{urlencode(query)}")
        for code in document["truncated"]:
            self.app.stderr.write(f"{code}: there are further findings, which are not listed\n")
        return document

    @cached_property
    def _providers(self) -> Document:
        url = "/insight/providers?fields=uuid,name,root_provider_uuid"
        document: Document = get(self.app, url)
        return document

    def _names_of_providers(self) -> Names:
        return {provider["uuid"]: provider["name"] for provider in self._providers["providers"]}

    def _live(self, arguments: argparse.Namespace) -> LiveFindings:
        """Return the findings from a list of live consumers."""
        names = self._names_of_providers()
        roots = {
            provider["uuid"]: provider["root_provider_uuid"]
            for provider in self._providers["providers"]
            if provider["root_provider_uuid"] in names
        }
        hosts = get(self.app, f"/insight/providers?required={COMPUTE_NODE}&fields=uuid")
        uuids = {host["uuid"] for host in hosts["providers"]} & names.keys()
        consumers = map(from_document, client.consumers(self.app, {"limit": _PAGE}))
        manager: Any = self.app.client_manager  # plugins add their clients as attributes
        return live_findings(
            consumers,
            AuditedProviders(names, roots, uuids),
            arguments,
            lambda: manager.sdk_connection,
        )

    def _documents(self, findings: Sequence[Finding]) -> Iterator[Document]:
        names = self._names_of_providers() if findings else {}
        for finding in findings:
            yield replace(finding, names=names_in(finding.rows, names)).as_json()

    # --- plans --------------------------------------------------------------------------

    def _write_plan(
        self,
        findings: Iterable[Document],
        skipped: Iterable[Skipped],
        arguments: argparse.Namespace,
    ) -> None:
        # Actions have SQL, and each command of `openstack` imports this module.
        from placement.insight.repair.plan_file import write_plan  # noqa: PLC0415

        found = map(Finding.from_json, findings)
        database = str(change_token.epoch(self._providers["token"]))
        planned = write_plan(arguments.plan, database, found, arguments.code)
        self.app.stderr.write(f"{planned.text(arguments.plan, skipped)}\n")
        if planned.actions:
            self.app.stderr.write(
                f"To apply them on an API host: placement-manage audit --apply {arguments.plan}\n"
            )


def _rows(finding: Document) -> Shown:
    """Return the rows of a finding; in a table they are one per line, with names of providers."""
    return Shown(finding["rows"], lambda _: "\n".join(row_lines(finding)))
