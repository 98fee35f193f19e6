"""``openstack placement audit``."""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from cliff.columns import FormattableColumn
from osc_lib.command import command
from osc_lib.exceptions import CommandError

from placement.cli import client
from placement.cli.client import WrittenOutput, cells, get
from placement.core.text import printable
from placement.insight.audit import command as audit_command
from placement.insight.audit.live_consumers import Root, live_findings
from placement.insight.audit.model import Finding, InvalidList
from placement.insight.consumers.model import ListedConsumer, from_document
from placement.insight.feed import change_token
from placement.insight.repair.durable_file import replace_durably

Document = dict[str, Any]

_COLUMNS = ("code", "severity", "rows", "cause", "repair")
_PAGE = 10_000


class _Rows(FormattableColumn[Any]):
    """The rows of a finding."""

    def human_readable(self) -> str:
        """Return a line for each name."""
        return "\n".join(
            printable(f"{name}: {_text(value)}") for name, value in self._value.items()
        )


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


class ServiceConsumers:
    """The consumers to audit, read from the service."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def consumers(self) -> Iterator[ListedConsumer]:
        """Yield all consumers."""
        return map(from_document, client.consumers(self._app, {"limit": _PAGE}))

    def roots(self) -> Mapping[str, Root]:
        """Return the root of each provider."""
        providers = _providers(self._app)["providers"]
        names = {provider["uuid"]: provider["name"] for provider in providers}
        return {
            provider["uuid"]: Root(
                provider["root_provider_uuid"], names[provider["root_provider_uuid"]]
            )
            for provider in providers
            if provider["root_provider_uuid"] in names
        }


def _providers(app: Any) -> Document:
    document: Document = get(app, "/insight/providers?fields=uuid,name,root_provider_uuid")
    return document


class AuditPlacement(WrittenOutput, command.Lister):
    """Report inconsistent data in the database of Placement, such as orphaned allocations.

    Repairs have two steps: --plan writes a file, and ``placement-manage audit --apply FILE`` on an
    API host applies the file and writes an undo file.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--code",
            action="append",
            default=[],
            metavar="<code>",
            help="Report only findings with this code. Can be repeated.",
        )
        audit_command.add_arguments(parser)
        parser.add_argument(
            "--plan",
            metavar="<file>",
            help="Write the actions that repair the findings, for "
            "`placement-manage audit --apply` on an API host.",
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        """Return the columns, and a row for each finding."""
        try:
            findings = [*self._database(parsed_args), *self._live(parsed_args)]
        except (InvalidList, OSError) as error:
            raise CommandError(str(error)) from error
        if parsed_args.plan:
            self._write_plan(findings, parsed_args)
        return _COLUMNS, [
            cells(
                (
                    finding.code,
                    finding.severity,
                    _Rows(finding.rows),
                    finding.cause,
                    finding.repair,
                )
            )
            for finding in findings
        ]

    def _database(self, arguments: argparse.Namespace) -> Iterator[Finding]:
        """Yield the findings that need no list of live consumers."""
        query: list[tuple[str, object]] = [("grace_minutes", arguments.grace_minutes)]
        if arguments.stale_days is not None:
            query.append(("stale_days", arguments.stale_days))
        document = get(self.app, f"/insight/findings?{urlencode(query)}")
        for code in document["truncated"]:
            self.app.stderr.write(f"{code}: there are further findings, which are not listed\n")
        for finding in document["findings"]:
            if not arguments.code or finding["code"] in arguments.code:
                yield Finding(
                    finding["code"], finding["rows"], finding["cause"], finding["repair"]
                )

    def _live(self, arguments: argparse.Namespace) -> Sequence[Finding]:
        """Return the findings from a list of live consumers, if one is named."""
        manager: Any = self.app.client_manager  # plugins add their clients as attributes
        if not arguments.live:
            return ()
        return live_findings(ServiceConsumers(self.app), arguments, lambda: manager.sdk_connection)

    # --- plans --------------------------------------------------------------------------

    def _write_plan(self, findings: Iterable[Finding], arguments: argparse.Namespace) -> None:
        # Actions have SQL, and each command of `openstack` imports this module.
        from placement.insight.repair.actions import plan  # noqa: PLC0415
        from placement.insight.repair.plan_file import plan_text  # noqa: PLC0415

        planned = plan(findings, frozenset(arguments.code))
        epoch = change_token.epoch(_providers(self.app)["token"])
        try:
            replace_durably(Path(arguments.plan), plan_text(str(epoch), planned.actions))
        except OSError as error:
            raise CommandError(f"The plan could not be written: {error}") from error
        self.app.stderr.write(
            f"{len(planned.actions)} actions planned in {arguments.plan}; to apply them on an API "
            f"host: placement-manage audit --apply {arguments.plan}\n"
        )
        for code, count in planned.without_action.items():
            self.app.stderr.write(f"{count} {code} need a decision\n")
