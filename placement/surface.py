"""The border of the service: what an add-on brings to it.

An add-on is a subclass of ``Surface``, named by an entry point of the group ``placement.surface``.
The service runs without one, and names none. This module imports nothing of the service, so that
each part of the service can ask the add-on for its share.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from wsgiref.types import WSGIApplication

from oslo_config import cfg
from oslo_policy.policy import RuleDefault

if TYPE_CHECKING:
    from placement.core.model import ConsumerClaim
    from placement.core.request import CandidateRequest
    from placement.core.snapshot.snapshot import Snapshot
    from placement.db.store import Store
    from placement.db.transaction import ChangeObserver
    from placement.events import Metric
    from placement.http.request import HandlerFunction, Request

GROUP = "placement.surface"

AddCommand = Callable[[str, Callable[[cfg.ConfigOpts], int], str], Any]
"""Adds a command of ``placement-manage``, by name, function and help; returns its parser."""


class Reports:
    """Observes requests without result; this one ignores them.

    An add-on may have one that reports them to operators.
    """

    def candidates_found(self, request: "Request") -> None:
        """Note that earlier empty responses with the same global request id are superseded."""

    def empty_response(
        self, request: "Request", snapshot: "Snapshot", candidate_request: "CandidateRequest"
    ) -> None:
        """Report, after the response, why there are no candidates."""

    def invalid_names_of(
        self, request: "Request", snapshot: "Snapshot", candidate_request: "CandidateRequest"
    ) -> AbstractContextManager[None]:
        """Return a context that reports that a trait or class does not exist, and raises it."""
        return nullcontext()

    def results_of(
        self,
        request: "Request",
        claims: "Sequence[ConsumerClaim]" = (),
        providers: Sequence[str] = (),
    ) -> AbstractContextManager[None]:
        """Return a context that reports the refusal of a write of claims and of providers."""
        return nullcontext()

    def name_conflicts_of(
        self, request: "Request", name: str, uuid: str
    ) -> AbstractContextManager[None]:
        """Return a context that reports that the name or UUID of a provider is taken."""
        return nullcontext()


class Surface:
    """What an add-on brings; this one brings nothing.

    The methods import what they return: ``placement-manage db sync`` needs none of the routes.
    """

    def options(self) -> Sequence[tuple[cfg.OptGroup, Sequence[cfg.Opt]]]:
        """Return further options by group."""
        return ()

    def rules(self) -> Sequence[RuleDefault]:
        """Return the policy rules of the routes."""
        return ()

    def routes(self) -> "Mapping[str, Mapping[str, HandlerFunction]]":
        """Return the handlers by path and method, as ``handler.ROUTE_DECLARATIONS`` has them."""
        return {}

    def metrics(self) -> "Mapping[Metric, Sequence[Sequence[str]]]":
        """Return the metrics of the add-on, each with the labels that exist from the start."""
        return {}

    def reports(self, conf: cfg.ConfigOpts, store: "Store") -> Reports:
        """Return the observer of requests without candidates and of refused claims."""
        return Reports()

    def change_observer(self, conf: cfg.ConfigOpts, store: "Store") -> "ChangeObserver | None":
        """Return the observer of what writes change, in the service and in its commands."""
        return None

    def wrapped(self, application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
        """Return the application with what is served before authentication."""
        return application

    def add_commands(self, add: AddCommand) -> None:
        """Add commands to ``placement-manage``."""

    def development_defaults(self) -> Mapping[tuple[str, str], object]:
        """Return the defaults of options, by group and name, for ``--development``."""
        return {}

    def fixture_defaults(self) -> Mapping[tuple[str, str], object]:
        """Return the defaults of options, by group and name, for tests of other projects.

        Their database ends with the test: nothing may be written in the background.
        """
        return {}

    def announcements(self, conf: cfg.ConfigOpts, url: str) -> Iterator[str]:
        """Yield lines that ``placement-api`` prints when it listens on the URL."""
        yield from ()

    def fill(self, store: "Store", application: WSGIApplication, hosts: int) -> bool:
        """Write a cloud of so many hosts into an empty database; return False if it is not empty.

        ``placement-api --demo`` calls it. The application accepts every token.

        Raises: RuntimeError if the add-on has none.
        """
        raise RuntimeError("No package that is installed brings a demonstration cloud.")


@cache
def installed() -> Surface:
    """Return the add-on that is installed, or a ``Surface`` that brings nothing.

    A distribution may have been installed without the package that its entry point names.

    Raises: RuntimeError if several are installed; ImportError if it cannot be imported.
    """
    found = [point for point in entry_points(group=GROUP) if _is_present(point)]
    if len(found) > 1:
        names = ", ".join(point.value for point in found)
        raise RuntimeError(f"Several add-ons are installed: {names}. Uninstall all but one.")
    kind: type[Surface] = found[0].load() if found else Surface
    return kind()


def _is_present(point: EntryPoint) -> bool:
    return find_spec(point.module.partition(".")[0]) is not None
