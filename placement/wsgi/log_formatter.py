"""Formats the log lines of requests exactly as oslo.log does, in less time."""

import logging
import re

from oslo_context.context import RequestContext, get_current
from oslo_log.formatters import ContextFormatter

_NAMES = re.compile(r"%\(([^)]+)\)")
# oslo.log sets these on a record that does not have them
_OPTIONAL = ("color", "resource", "user_name", "project_name", "global_request_id")
# oslo.log computes these for each record
_COMPUTED = frozenset({"isotime", "error_summary"})
# attributes of records and contexts that oslo.log formats with options of their own
_INSTANCE = ("instance", "instance_uuid")


class RequestFormatter(ContextFormatter):
    """Formats records exactly as the ContextFormatter with the same options.

    A record of level INFO within a request, as of each response, takes half of the time: options
    are read and parsed once, the time is formatted once a second, and only what the format
    contains is computed. oslo.log formats all other records.
    """

    def __init__(self, original: ContextFormatter) -> None:
        super().__init__(
            project=original.project,
            version=original.version,
            datefmt=original.datefmt,
            config=original.conf,
        )
        self._line = logging.PercentStyle(self.conf.logging_context_format_string)
        self._has_time = self._line.usesTime()
        self._identity = self.conf.logging_user_identity_format
        self._identity_names = _NAMES.findall(self._identity)
        self._is_supported = _COMPUTED.isdisjoint(
            _NAMES.findall(self.conf.logging_context_format_string)
        )
        self._second = (0, "")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record; set the values of its context on the record."""
        context = get_current()
        if context is None or not self._is_plain(record, context):
            return super().format(record)
        try:
            return self._formatted(record, context)
        except TypeError:  # arguments that do not match the message: oslo.log reports it
            return super().format(record)

    def _is_plain(self, record: logging.LogRecord, context: RequestContext) -> bool:
        fields = record.__dict__
        return (
            record.levelno == logging.INFO
            and self._is_supported
            and not (record.exc_info or record.exc_text or record.stack_info)
            and "context" not in fields
            and not any(fields.get(name) or getattr(context, name, None) for name in _INSTANCE)
            and not context.resource_uuid
        )

    def _formatted(self, record: logging.LogRecord, context: RequestContext) -> str:
        values = context.get_logging_values()
        fields = record.__dict__
        fields["project"], fields["version"] = self.project, self.version
        fields.update(values)  # for handlers, too: the journal reads them
        for name in _OPTIONAL:
            fields.setdefault(name, "")
        fields["instance"] = fields["error_summary"] = ""
        fields["user_identity"] = self._identity % {
            name: values.get(name) or "-" for name in self._identity_names
        }
        record.message = record.getMessage()
        if self._has_time:
            record.asctime = self.formatTime(record, self.datefmt)
        return self._line.format(record)

    def formatTime(  # noqa: N802  as in logging
        self, record: logging.LogRecord, datefmt: str | None = None
    ) -> str:
        """Return the time of a record; a text with a format has no fractions of seconds."""
        if datefmt is None:
            return super().formatTime(record)
        second = int(record.created)
        formatted_second, text = self._second
        if second != formatted_second:
            text = super().formatTime(record, datefmt)
            self._second = second, text
        return text


def install() -> None:
    """Replace oslo.log's formatters of the root logger; those for JSON stay."""
    for handler in logging.getLogger().handlers:
        if type(handler.formatter) is ContextFormatter:
            handler.setFormatter(RequestFormatter(handler.formatter))
