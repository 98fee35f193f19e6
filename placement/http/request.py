"""Requests as handlers see them: the caller, the services, and the requirements of handlers."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qsl

import webob
from oslo_context.context import RequestContext
from oslo_policy.policy import RuleDefault
from webob.acceptparse import create_accept_header

from placement import exception
from placement.core.model import IncompleteConsumer
from placement.core.request import SearchSettings
from placement.core.search.deadline import Deadline
from placement.core.text import is_storable, printable
from placement.db.store import Store
from placement.engine.engine import Engine
from placement.engine.shared import SharedRuns, ThreadLimit, request_clock
from placement.events import VERSION, Observer
from placement.http import request_body
from placement.microversion import Version
from placement.policies import ProjectRule
from placement.policy import Policy
from placement.surface import Reports

JSON = "application/json"
REQUEST_ID = "openstack.request_id"
CONTEXT = "placement.context"
SERVICES = "placement.services"
ROUTE = "placement.route"
AFTER_RESPONSE = "placement.after_response"

Task = Callable[[], object]

_MAX_PARAMETERS = 2000
MAX_QUERY_LENGTH = 2**16


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one process: ``request.services`` of each request."""

    store: Store
    store_for_allocations: Store  # retries as [placement]allocation_conflict_retry_count says
    engine: Engine
    policy: Policy
    search: SearchSettings
    incomplete_consumer: IncompleteConsumer
    reports: Reports
    observer: Observer
    shared: SharedRuns = field(default_factory=SharedRuns)
    threads: ThreadLimit = field(default_factory=ThreadLimit)
    max_body_bytes: int = 16 * 2**20

    def deadline(self) -> Deadline:
        """Return the deadline of a computation of ``shared``, from now on."""
        give_way = self.shared.short_requests.give_way
        return Deadline(self.search.budget_seconds, request_clock(), give_way)

    def search_deadline(self, advice: str) -> Deadline:
        """Return the deadline of a search, from now on; its error has the advice."""
        return Deadline(self.search.budget_seconds, request_clock(), advice=advice)


class Context(RequestContext):
    """The caller of a request, as policy rules and log lines read it."""

    def get_logging_values(self) -> dict[str, Any]:
        """Return the values for log lines, in which control characters are escaped."""
        values: dict[str, Any] = super().get_logging_values()
        texts = [value for value in values.values() if value.__class__ is str]
        if "".join(texts).isprintable():  # as a whole: every log line has 30 values
            return values
        return {
            name: printable(value) if isinstance(value, str) else value
            for name, value in values.items()
        }


class Request(webob.Request):  # type: ignore[misc]
    """One HTTP request, with its route, microversion and caller."""

    @property
    def version(self) -> Version:
        """The microversion of the request."""
        return cast("Version", self.environ[VERSION])

    @property
    def known_version(self) -> Version | None:
        """The microversion of the request; None before it is negotiated."""
        return cast("Version | None", self.environ.get(VERSION))

    @property
    def context(self) -> Context:
        """The authenticated caller; log lines of the current thread carry its ids."""
        return cast("Context", self.environ[CONTEXT])

    @property
    def services(self) -> Services:
        """The services available to handlers."""
        return cast("Services", self.environ[SERVICES])

    def can(self, rule: RuleDefault) -> None:
        """Return if the policy allows this; the target is the project that the query names.

        Raises: PolicyNotAuthorized, ScopeNotAuthorized, PolicyCheckFailed; BadRequest if the rule
        is a ProjectRule, and the query is not valid UTF-8.
        """
        target = {}
        if isinstance(rule, ProjectRule):
            target = {name: text for name, text in self.query_pairs if name == "project_id"}
        decisions = self.services.policy.decisions()
        decisions.authorize(rule.name, target, self.context.to_policy_values())

    def may(self, rule: RuleDefault) -> bool:
        """Return whether the policy allows this, see ``can``."""
        try:
            self.can(rule)
        except exception.PolicyNotAuthorized:
            return False
        return True

    @property
    def route(self) -> dict[str, str]:
        """The parameters in the path, by their names in the declared route."""
        return cast("dict[str, str]", self.environ[ROUTE])

    @property
    def query_pairs(self) -> list[tuple[str, str]]:
        """The decoded parameters of the query string, in order; see ``query_pairs``."""
        try:
            text = self.query_string.encode("latin-1").decode()
        except UnicodeError as error:
            raise exception.BadRequest(f"Invalid query string parameters: {error}") from None
        return query_pairs(text)

    def after_response(self, task: Task) -> None:
        """Have the task run once the response has been sent, as ``AfterResponse`` does."""
        self.environ.setdefault(AFTER_RESPONSE, []).append(task)

    @property
    def json_body(self) -> Any:
        """The decoded body; see ``request_body.decode``.

        Raises: RequestBodyTooLarge, BadRequest, MalformedJson.
        """
        return request_body.decode(self.environ, self.services.max_body_bytes)


def query_pairs(text: str) -> list[tuple[str, str]]:
    """Return the decoded parameters of a query, which a URL, a body or a parameter has, in order.

    Raises: BadRequest if it is too long or has too many parameters, is not UTF-8, or contains
    NUL, which databases cannot store.
    """
    text = text.replace(";", "&")  # both are separators
    if len(text) > MAX_QUERY_LENGTH:
        reason = f"{len(text):,} characters; the maximum is {MAX_QUERY_LENGTH:,}"
        raise exception.BadRequest(f"Invalid query string parameters: {reason}")
    if text.count("&") >= _MAX_PARAMETERS:
        reason = f"more than {_MAX_PARAMETERS} of them"
        raise exception.BadRequest(f"Invalid query string parameters: {reason}")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict")
    except UnicodeError as error:
        raise exception.BadRequest(f"Invalid query string parameters: {error}") from None
    if not all(is_storable(text) for pair in pairs for text in pair):
        raise exception.BadRequest("Invalid query string parameters: NUL is not allowed")
    return pairs


# --- requirements of handlers --------------------------------------------------------

HandlerFunction = Callable[[Request], webob.Response]


def accepts_json(handler: HandlerFunction) -> HandlerFunction:
    """Decorate a handler that returns a body: 406 unless the client accepts JSON."""

    @functools.wraps(handler)
    def checked(request: Request) -> webob.Response:
        accept = request.environ.get("HTTP_ACCEPT", JSON)
        if accept != JSON and not create_accept_header(accept).acceptable_offers([JSON]):
            raise exception.NotAcceptable
        return handler(request)

    return checked


def requires_json(handler: HandlerFunction) -> HandlerFunction:
    """Decorate a handler that reads the body: 415 unless its media type is JSON."""

    @functools.wraps(handler)
    def checked(request: Request) -> webob.Response:
        media_type = request.environ.get("CONTENT_TYPE", "").partition(";")[0].strip()
        if media_type != JSON:
            raise exception.UnsupportedMediaType(media_type or None)
        return handler(request)

    return checked
