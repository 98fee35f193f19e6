"""``openstack placement audit``."""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
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
from placement.insight.audit import live_sources
from placement.insight.audit.findings import Root, doubled, is_compared, orphaned
from placement.insight.audit.model import Finding, InvalidList, LiveConsumers
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

    # --- live consumers ---------------------------------------------------------------

    def _live(self, arguments: argparse.Namespace) -> Sequence[Finding]:
        """Return the findings from a list of live consumers, if one is named."""
        if not arguments.live:
            return ()
        many = arguments.allow_many_orphans
        before = _now() - timedelta(minutes=arguments.grace_minutes)
        live = live_sources.read(arguments.live, arguments.type, self._connect, accept_empty=many)
        consumers = list(self._consumers())
        old = [consumer for consumer in consumers if _is_compared(consumer, live, before)]
        unlisted = [
            consumer for consumer in old if consumer.allocations and not live.has(consumer.uuid)
        ]
        listed = live_sources.checked(list(orphaned(unlisted)), len(old), accept_many=many)
        if arguments.live == live_sources.NOVA:
            listed = live_sources.confirmed(listed, self._connect)
        several = [consumer for consumer in consumers if _is_old(consumer, live, before)]
        findings = [*listed, *doubled(several, self._roots(), live)]
        return [
            finding for finding in findings if not arguments.code or finding.code in arguments.code
        ]

    def _connect(self) -> Any:
        manager: Any = self.app.client_manager  # plugins add their clients as attributes
        return manager.sdk_connection

    def _consumers(self) -> Iterator[ListedConsumer]:
        return map(from_document, client.consumers(self.app, {"limit": _PAGE}))

    def _providers(self) -> Document:
        fields = "uuid,name,root_provider_uuid"
        document: Document = get(self.app, f"/insight/providers?fields={fields}")
        return document

    def _roots(self) -> Mapping[str, Root]:
        providers = self._providers()["providers"]
        names = {provider["uuid"]: provider["name"] for provider in providers}
        return {
            provider["uuid"]: Root(
                provider["root_provider_uuid"], names[provider["root_provider_uuid"]]
            )
            for provider in providers
            if provider["root_provider_uuid"] in names
        }

    # --- plans --------------------------------------------------------------------------

    def _write_plan(self, findings: Iterable[Finding], arguments: argparse.Namespace) -> None:
        # Actions have SQL, and each command of `openstack` imports this module.
        from placement.insight.repair.actions import plan  # noqa: PLC0415
        from placement.insight.repair.plan_file import plan_text  # noqa: PLC0415

        planned = plan(findings, frozenset(arguments.code))
        epoch = change_token.epoch(self._providers()["token"])
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


def _is_compared(consumer: ListedConsumer, live: LiveConsumers, before: datetime) -> bool:
    return is_compared(live, consumer.type, _written_at(consumer), before)


def _is_old(consumer: ListedConsumer, live: LiveConsumers, before: datetime) -> bool:
    at = _written_at(consumer)
    return at is None or at < min(before, live.listed_at)


def _written_at(consumer: ListedConsumer) -> datetime | None:
    return consumer.updated_at or consumer.created_at


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
