"""Creates the services and the WSGI application from the configuration."""

from collections.abc import Callable
from functools import partial
from types import ModuleType
from wsgiref.types import WSGIApplication

import webob
from oslo_config import cfg

from placement import db_api, surface
from placement.conf.base import settings_of
from placement.core.request import SearchSettings
from placement.core.snapshot.snapshot import Snapshot
from placement.db.maintenance.used_numbers import shares_of_ids
from placement.engine.engine import Engine
from placement.events import WRITE_RETRIES, Observer
from placement.handler import PlacementHandler
from placement.http import auth, middleware
from placement.http.request import Services
from placement.objects import usage
from placement.observability import health, metrics
from placement.observability.inventory_metrics import InventoryMetrics, InventorySettings
from placement.policy import Policy


def loadapp(
    config: cfg.ConfigOpts,
    project_name: str | None = None,  # noqa: ARG001
) -> WSGIApplication:
    """Return the WSGI application, after its database was checked and completed.

    ``config`` is parsed and has the options of ``placement.conf``;
    ``placement.db_api.configure`` was called with it. Upgrades the schema if
    [placement_database]sync_on_startup is set, and inserts missing standard traits and resource
    classes. ``project_name`` is accepted for compatibility and not used.
    """
    application, _ = load(config)
    return application


def load(config: cfg.ConfigOpts) -> tuple[WSGIApplication, Engine]:
    """Return the WSGI application and its engine; see ``loadapp``."""
    add_on = surface.installed()
    observer = (
        metrics.PrometheusObserver(metrics.configured_folder(config), add_on.metrics())
        if config.metrics.enabled
        else None
    )
    app_services = services(config, observer)
    application = middleware.pipeline(PlacementHandler(app_services), config)
    if observer is not None:
        inventory = inventory_text(config, observer.library, app_services)
        view, allowed = app_services.engine.view, config.metrics.allowed_source_ranges
        application = metrics.MetricsMiddleware(application, observer, view, inventory, allowed)
    application = add_on.wrapped(application, config)
    if config.healthcheck.enabled:
        current, url = app_services.engine.current, auth.keystone_url(config)
        checks = health.HealthChecks(app_services.store, current, url)
        application = health.with_health_checks(application, config, checks)
    return application, app_services.engine


def check(config: cfg.ConfigOpts) -> None:
    """Check what the application needs besides its database, and change nothing.

    Raises: what ``load`` raises, as RuntimeError, cfg.Error or ImportError.
    """
    if config.metrics.enabled:
        metrics.check_is_available(config)
    middleware.pipeline(webob.Response(), config)
    auth.check_is_configured(config)


def inventory_text(
    conf: cfg.ConfigOpts, library: ModuleType, of: Services
) -> Callable[[Snapshot | None], bytes]:
    """Return the function that returns the metrics of inventory."""
    settings = settings_of(InventorySettings, conf.metrics)
    counts, ids = partial(usage.consumers_by_provider, of.store), partial(shares_of_ids, of.store)
    return InventoryMetrics(library, settings, counts, ids).text


def services(conf: cfg.ConfigOpts, observer: metrics.PrometheusObserver | None = None) -> Services:
    """Return the services; they report events to the observer, if there is one."""
    policy = Policy(conf)
    store = db_api.store(conf)
    if observer is not None:
        store = store.writing_with(on_conflict=partial(observer.count, WRITE_RETRIES))
        for metric, several in surface.installed().metrics().items():
            for labels in several:
                observer.count(metric, *labels, amount=0)  # rate() counts the first event
    if changes := surface.installed().change_observer(conf, store):
        changes.start()
        store = store.writing_with(observer=changes)
    return Services(
        store=store,
        store_for_allocations=store.writing_with(
            max_attempts=conf.placement.allocation_conflict_retry_count
        ),
        engine=Engine(store, observer),
        policy=policy,
        search=search_settings(conf),
        incomplete_consumer=db_api.incomplete_consumer(conf),
        observer=observer or Observer(),
        reports=surface.installed().reports(conf, store),
        max_body_bytes=conf.api.max_request_body_size,
    )


def search_settings(conf: cfg.ConfigOpts) -> SearchSettings:
    """Return the search settings from [placement]."""
    options = conf.placement
    limit = options.max_allocation_candidates
    return SearchSettings(
        randomize=options.randomize_allocation_candidates,
        max_candidates=None if limit < 0 else max(limit, 1),
        breadth_first=options.allocation_candidates_generation_strategy == "breadth-first",
        budget_seconds=options.candidate_search_budget_seconds,
        rotate=options.rotate_limited_candidates,
    )
