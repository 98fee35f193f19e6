"""What each package of the operator surface may import; the documentation shows it as a table.

The names of packages of the service have no prefix, as in its rules.
"""

_CORE = {"core", "exception", "surface"}
_STORE = {
    *("db.tables", "db.errors", "db.settings", "db.writes", "db.grouped_rows"),
    *("db.connections", "db.clocks", "db.resources", "db.claims", "db.snapshot"),
    *("db.transaction", "db.usage_counters", "db.store"),
}
_HTTP = {"http", "microversion", "parse", "schemas", "policies", "engine", "events"}
_SHARED = (
    *("documents", "fitted_tables", "hosts", "http", "names", "nova_lists", "policies"),
    *("queries", "times"),
)
_SERVICE = {*_CORE, *_STORE, *_HTTP, *(f"placement_insight.{name}" for name in _SHARED)}
_COMMAND = {"cmd.errors", "conf.base", "db_api", "objects", "terminal"}

INTERNAL = {
    "placement_insight": _SERVICE,
    "placement_insight.documents": set(),
    "placement_insight.times": set(),
    "placement_insight.fitted_tables": set(),
    "placement_insight.conf": set(),
    "placement_insight.policies": {"policies"},
    "placement_insight.queries": {
        *("schemas", "parse", "microversion", "exception", "http", "core.text"),
        "placement_insight.times",
    },
    "placement_insight.history": {*_SERVICE, "placement_insight.history"},
    "placement_insight.explain": {
        *(*_SERVICE, "placement_insight.explain", "placement_insight.history"),
    },
    "placement_insight.audit": {
        *(*_SERVICE, *_COMMAND, "placement_insight.audit", "placement_insight.explain"),
        "placement_insight.history",
    },
    "placement_insight.plan": {*_SERVICE, "placement_insight.plan", "placement_insight.explain"},
    "placement_insight.plan.hypothetical": {"core"},
    "placement_insight.page": {*_SERVICE, "objects", "placement_insight.page"},
    "placement_insight.demo": {*_SERVICE, "db.maintenance", "objects", "placement_insight.demo"},
    "placement_insight.cli": {
        *("core", "microversion", "exception", "terminal", "placement_insight"),
    },
    "placement_insight.top": {*_SERVICE, "placement_insight.history"},
    "placement_insight.routes": {*_SERVICE, "placement_insight"},
    "placement_insight.surface": {*_SERVICE, "conf.base", "placement_insight"},
}
EXTERNAL = {
    "placement_insight": {"numpy", "oslo_config", "oslo_policy", "sqlalchemy", "webob"},
    "placement_insight.fitted_tables": set(),
    "placement_insight.history": {"oslo_context", "sqlalchemy", "webob"},
    "placement_insight.explain.records.recorder": {"uwsgi"},
    "placement_insight.nova_lists": {"openstack"},
    "placement_insight.audit.live_sources": {"openstack", "keystoneauth1"},
    "placement_insight.audit.nova": {"openstack", "keystoneauth1"},
    "placement_insight.plan.capacity.flavors": {"openstack", "keystoneauth1", "osc_lib"},
    "placement_insight.page": {"webob", "keystoneauth1"},
    "placement_insight.cli": {"cliff", "osc_lib", "osc_placement", "keystoneauth1"},
}
