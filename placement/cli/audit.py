"""``openstack placement audit``."""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from osc_lib.command import command

from placement.cli import client
from placement.cli.client import Shown, Table, WrittenOutput, cells, get
from placement.cli.names import CommandNames
from placement.insight.audit import command as audit_command
from placement.insight.audit.live_consumers import NO_LIST, LiveFindings, Root, live_findings
from placement.insight.audit.model import COMPUTE_NODE, Finding, Skipped, names_in
from placement.insight.audit.text import NOTHING_FOUND, by_provider, row_lines
from placement.insight.consumers.model import ListedConsumer, from_document
from placement.insight.feed import change_token
from placement.insight.names import Names

Document = dict[str, Any]

_COLUMNS = ("code", "severity", "rows", "cause", "repair", "repair_command")
_PAGE = 10_000


class ServiceConsumers:
    """The consumers to audit, and the names of providers, read from the service."""

    def __init__(self, app: Any) -> None:
        self._app = app

    @cached_property
    def _providers(self) -> Document:
        url = "/insight/providers?fields=uuid,name,root_provider_uuid"
        document: Document = get(self._app, url)
        return document

    def consumers(self) -> Iterator[ListedConsumer]:
        """Yield all consumers."""
        return map(from_document, client.consumers(self._app, {"limit": _PAGE}))

    def names(self) -> Mapping[str, str]:
        """Return the name of each provider."""
        return {provider["uuid"]: provider["name"] for provider in self._providers["providers"]}

    def hosts(self) -> Mapping[str, str]:
        """Return the name of each provider with the trait COMPUTE_NODE."""
        document = get(self._app, f"/insight/providers?required={COMPUTE_NODE}&fields=uuid,name")
        return {provider["uuid"]: provider["name"] for provider in document["providers"]}

    def roots(self) -> Mapping[str, Root]:
        """Return the root of each provider."""
        names = self.names()
        return {
            provider["uuid"]: Root(
                provider["root_provider_uuid"], names[provider["root_provider_uuid"]]
            )
            for provider in self._providers["providers"]
            if provider["root_provider_uuid"] in names
        }

    def epoch(self) -> int | None:
        """Return the epoch of the database."""
        return change_token.epoch(self._providers["token"])


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
        audited = ServiceConsumers(self.app)
        document = self._database(parsed_args)
        live = self._live(parsed_args, audited)
        findings = [*document["findings"], *_documents(live, audited)]
        if parsed_args.plan:
            skipped = [*map(_skipped, document["skipped"]), *live.skipped]
            self._write_plan(findings, skipped, parsed_args, audited)
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
                    finding.get("repair_command", ""),
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
        """Return the findings that need no list of live consumers, of the codes in the options."""
        query: list[tuple[str, object]] = [("grace_minutes", arguments.grace_minutes)]
        if arguments.stale_days is not None:
            query.append(("stale_days", arguments.stale_days))
        document: Document = get(self.app, f"/insight/findings?{urlencode(query)}")
        for code in document["truncated"]:
            self.app.stderr.write(f"{code}: there are further findings, which are not listed\n")
        return {
            name: [
                row
                for row in document.get(name, ())
                if not arguments.code or row["code"] in arguments.code
            ]
            for name in ("findings", "skipped")
        }

    def _live(self, arguments: argparse.Namespace, audited: ServiceConsumers) -> LiveFindings:
        """Return the findings from a list of live consumers, if one is named."""
        manager: Any = self.app.client_manager  # plugins add their clients as attributes
        if not arguments.live:
            return NO_LIST
        return live_findings(audited, arguments, lambda: manager.sdk_connection)

    # --- plans --------------------------------------------------------------------------

    def _write_plan(
        self,
        findings: Iterable[Document],
        skipped: Iterable[Skipped],
        arguments: argparse.Namespace,
        audited: ServiceConsumers,
    ) -> None:
        # Actions have SQL, and each command of `openstack` imports this module.
        from placement.insight.repair.plan_file import write_plan  # noqa: PLC0415

        found, database = map(Finding.from_json, findings), str(audited.epoch())
        planned = write_plan(arguments.plan, database, found, arguments.code)
        self.app.stderr.write(f"{planned.text(arguments.plan, skipped)}\n")
        if planned.actions:
            self.app.stderr.write(
                f"To apply them on an API host: placement-manage audit --apply {arguments.plan}\n"
            )


def _documents(live: LiveFindings, audited: ServiceConsumers) -> Iterator[Document]:
    names = audited.names() if live.findings else {}
    for finding in live.findings:
        yield replace(finding, names=names_in(finding.rows, names)).as_json()


def _skipped(document: Document) -> Skipped:
    return Skipped(document["code"], document["count"], document["reason"])


def _rows(finding: Document) -> Shown:
    """Return the rows of a finding; in a table they are one per line, with names of providers."""
    return Shown(finding["rows"], lambda _: "\n".join(row_lines(finding)))
