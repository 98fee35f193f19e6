"""The only place where the parts of the service are put together."""

from functools import partial
from typing import TYPE_CHECKING

from oslo_config import cfg

from placement import db_api
from placement.core.request import SearchSettings
from placement.engine.engine import Engine
from placement.handler import PlacementHandler
from placement.http import middleware
from placement.http.services import IncompleteConsumer, Services
from placement.observability import health, metrics
from placement.observability.events import Observer, WriteRetried, ignore
from placement.policy import Policy

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def loadapp(config: cfg.ConfigOpts, project_name: str | None = None) -> "WSGIApplication":  # noqa: ARG001
    """Return the service as a WSGI application, its database ready to serve from.

    ``config`` has our options registered and is parsed; ``placement.db_api.configure`` was called
    with it. The schema is brought up to date if [placement_database]sync_on_startup asks for it;
    standard traits and resource classes that are missing are made. ``project_name`` is not used;
    older callers pass it.
    """
    figures = metrics.Figures(metrics.folder_of(config)) if config.metrics.enabled else None
    found = services(config, figures)
    application = middleware.assembled(PlacementHandler(found), config, found.policy)
    if figures is not None:
        allowed = config.metrics.allowed_source_ranges
        application = metrics.Page(application, figures, found.engine, allowed)
    if config.healthcheck.enabled:
        application = health.Health(application, config, found.engine)
    return application


def services(conf: cfg.ConfigOpts, observer: Observer | None = None) -> Services:
    """Return the parts of the service, which tell the observer, if any, what they do."""
    policy = Policy(conf)
    store = db_api.store(conf)
    if observer is not None:
        store = store.telling(partial(observer, WriteRetried()))
    return Services(
        store=store,
        store_for_allocations=store.trying(conf.placement.allocation_conflict_retry_count),
        engine=Engine(store, observer),
        policy=policy,
        search=search_settings(conf),
        incomplete_consumer=incomplete_consumer(conf),
        observe=observer or ignore,
    )


def search_settings(conf: cfg.ConfigOpts) -> SearchSettings:
    """Return what [placement] says about the search for candidates."""
    options = conf.placement
    most = options.max_allocation_candidates
    return SearchSettings(
        randomize=options.randomize_allocation_candidates,
        max_candidates=None if most < 0 else most,
        breadth_first=options.allocation_candidates_generation_strategy == "breadth-first",
        budget_seconds=options.candidate_search_budget_seconds,
    )


def incomplete_consumer(conf: cfg.ConfigOpts) -> IncompleteConsumer:
    """Return whose allocations of unnamed consumers are."""
    options = conf.placement
    return IncompleteConsumer(
        project_id=options.incomplete_consumer_project_id,
        user_id=options.incomplete_consumer_user_id,
    )
