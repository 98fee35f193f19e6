"""What this package brings to the service.

The methods import what they need: a command of ``placement-manage`` loads no routes.
"""

from collections.abc import Iterator, Mapping, Sequence
from wsgiref.types import WSGIApplication

from oslo_config import cfg
from oslo_policy.policy import RuleDefault

from placement.conf.base import settings_of
from placement.db.store import Store
from placement.db.transaction import ChangeObserver
from placement.events import Metric
from placement.http import auth
from placement.http.request import HandlerFunction
from placement.surface import AddCommand, Reports, Surface
from placement_insight import conf as insight_options
from placement_insight import policies


class Insight(Surface):
    """The operator surface."""

    def options(self) -> Sequence[tuple[cfg.OptGroup, Sequence[cfg.Opt]]]:
        """Return [insight]."""
        return [(insight_options.group, insight_options.options)]

    def rules(self) -> Sequence[RuleDefault]:
        """Return the rules ``placement:insight:*``."""
        return policies.list_rules()

    def routes(self) -> Mapping[str, Mapping[str, HandlerFunction]]:
        """Return the routes below ``/insight``."""
        from placement_insight.routes import DECLARATIONS

        return DECLARATIONS

    def metrics(self) -> Mapping[Metric, Sequence[Sequence[str]]]:
        """Return the counters of empty responses and of refused claims."""
        from placement_insight.explain.records.reports import METRICS

        return METRICS

    def reports(self, conf: cfg.ConfigOpts, store: Store) -> Reports:
        """Return the observer that logs, counts and records."""
        from placement_insight.explain.records import recorder as records
        from placement_insight.explain.records.reports import OperatorReports

        settings = settings_of(records.RecorderSettings, conf.insight)
        recorder = records.Recorder(store, settings)
        records.do_at_exit(recorder.flush)
        return OperatorReports(recorder)

    def change_observer(self, conf: cfg.ConfigOpts, store: Store) -> ChangeObserver:
        """Return the observer that records changes."""
        from placement_insight.history.observer import History

        return History(store, conf.insight.history_rows)

    def wrapped(self, application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
        """Return the application with the page, if [insight]page."""
        from placement_insight.page.page import DEVELOPMENT_HEADERS, DashboardMiddleware

        if not conf.insight.page:
            return application
        headers = DEVELOPMENT_HEADERS if conf.api.auth_strategy == auth.NOAUTH2 else {}
        return DashboardMiddleware(application, headers)

    def add_commands(self, add: AddCommand) -> None:
        """Add ``identity`` and ``audit``."""
        from placement_insight.audit import manage as audit
        from placement_insight.audit.identity import manage as identity

        identity.add_arguments(add("identity", identity.run, identity.DESCRIPTION))
        audit.add_arguments(add("audit", audit.run, audit.DESCRIPTION))

    def development_defaults(self) -> Mapping[tuple[str, str], object]:
        """Return the default that serves the page."""
        return {("insight", "page"): True}

    def fixture_defaults(self) -> Mapping[tuple[str, str], object]:
        """Return the defaults without records of requests and changes."""
        return {("insight", "record"): False, ("insight", "history_rows"): 0}

    def announcements(self, conf: cfg.ConfigOpts, url: str) -> Iterator[str]:
        """Yield the address of the page."""
        from placement_insight.page.page import PATH

        if conf.insight.page:
            yield f"The dashboard is at {url}{PATH}/"

    def fill(self, store: Store, application: WSGIApplication, hosts: int) -> bool:
        """Write the demonstration cloud."""
        from placement_insight.demo import database

        return database.fill(store, application, hosts)
