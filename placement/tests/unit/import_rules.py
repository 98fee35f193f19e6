"""What each package may import; the documentation shows these rules as a table."""

# What a package may import, of ours and of other libraries besides the standard one. The most
# specific entry counts. A package that is not here may import anything: it is at the edge.
_VALUES = {"core", "exception"}
_TABLES = {"db.tables", "db.errors", "db.settings", "db.writes", "db.grouped_rows"}
_CLOCKS = {*_VALUES, *_TABLES, "db.connections", "db.clocks"}
_TRANSACTION = {*_CLOCKS, "db.resources", "db.claims", "db.snapshot"}
_STORE = {*_TRANSACTION, "db.transaction", "db.usage_counters", "db.store"}
_HTTP = {"http", "microversion", "parse", "schemas", "policies", "engine", "events"}
_SHARED_MODULES = ("documents", "http", "hypothetical", "names", "nova_lists", "queries")
_INSIGHT = {
    *_STORE,
    *_HTTP,
    *(f"insight.{name}" for name in _SHARED_MODULES),
}

INTERNAL = {
    "exception": {"exception"},
    "microversion": {"exception"},
    "errors": {"exception"},
    "events": set(),
    "terminal": {"core.text"},
    "fitted_tables": set(),
    "core": _VALUES,
    "core.snapshot": {"core.snapshot", "core.model", "core.capacity"},
    "core.search": {
        *("core.search", "core.snapshot", "core.model", "core.capacity"),
        *("core.request", "core.requirement"),
        "exception",
    },
    "schemas": {"schemas", "core.model"},
    "parse": {"parse", "core", "schemas", "microversion", "exception"},
    "render": {"render", "core", "schemas", "microversion", "exception"},
    "conf": {"conf"},
    "policies": {"policies"},
    "policy": {"policy", "policies", "conf", "exception"},
    "db": _STORE,
    "db.tables": set(),
    "db.errors": {"exception", "db.tables"},
    "db.settings": set(),
    "db.grouped_rows": {"exception"},
    "db.writes": {"db.writes", "db.connections.messages"},
    "db.connections.messages": set(),
    "db.connections": {*_TABLES, "db.connections"},
    "db.clocks": _CLOCKS,
    "db.resources": {*_CLOCKS, "db.resources"},
    "db.claims": {*_CLOCKS, "db.resources", "db.claims"},
    "db.snapshot": {*_CLOCKS, "db.resources", "db.snapshot"},
    "db.transaction": _TRANSACTION,
    "db.usage_counters": {*_TRANSACTION, "db.transaction"},
    "db.maintenance": {*_STORE, "db.maintenance"},
    "db.schema": {*_STORE, "db.maintenance", "db.schema"},
    "db.schema.alembic": {"db.tables", "db.schema"},
    "objects": {*_STORE, "objects"},
    "engine": {*_STORE, "engine", "events"},
    "observability": {*_STORE, "db.schema", "engine", "events", "microversion", "observability"},
    "http.request_body": {"exception", "core.text"},
    "profiling": set(),
    "http": {
        *(*_STORE, "http", "conf", "policy", "engine", "events", "errors", "microversion"),
        "profiling",
    },
    "handlers": {
        *("handlers", "http", "objects", "parse", "render", "policies", "microversion", "core"),
        "events",
    },
    "insight": _INSIGHT,
    "insight.documents": set(),
    "insight.queries": {
        *("schemas", "parse", "microversion", "exception", "http", "insight.times"),
    },
    "insight.times": set(),
    "insight.explanation": {*_INSIGHT, "insight.explanation"},
    "insight.capacity": {*_INSIGHT, "insight.capacity", "insight.explanation"},
    "insight.hypothetical": {"core"},
    "insight.whatif": {*_INSIGHT, "db.transaction", "insight.whatif", "insight.explanation"},
    "insight.feed": {*_INSIGHT, "insight.feed"},
    "insight.permissions": {*_INSIGHT, "insight.permissions", "policy"},
    "insight.consumers": {*_INSIGHT, "insight.consumers"},
    "insight.recording": {*_INSIGHT, "insight.recording", "insight.explanation"},
    "insight.audit": {*_INSIGHT, "insight.audit", "insight.consumers"},
    "insight.repair": {*_INSIGHT, "insight.repair", "insight.audit"},
    "insight.identity": {
        *_INSIGHT,
        *("insight.identity", "insight.recording", "insight.consumers", "insight.repair"),
        "db.transaction",
    },
    "insight.routes": {*_INSIGHT, "insight"},
    "cli": {
        *("cli", "core", "insight", "dashboard", "microversion", "exception"),
        *("terminal", "fitted_tables"),
    },
}
EXTERNAL = {
    "exception": set(),
    "microversion": set(),
    "errors": set(),
    "events": set(),
    "terminal": set(),
    "fitted_tables": {"prettytable"},
    "core": {"numpy"},
    "schemas": {"jsonschema"},
    "parse": {"fastjsonschema", "jsonschema"},
    "render": set(),
    "conf": {"oslo_config", "oslo_middleware", "oslo_policy"},
    "policies": {"oslo_policy"},
    "db": {"sqlalchemy", "numpy"},
    "db.connections.pools": {"sqlalchemy", "osprofiler"},
    "db.connections.timeouts": {"sqlalchemy", "pymysql"},
    "db.schema": {"sqlalchemy", "alembic", "os_traits", "os_resource_classes"},
    "db.schema.alembic": {"sqlalchemy", "alembic"},
    "objects": set(),
    "engine": set(),
    "handlers": {"webob"},
    "insight": {"numpy", "sqlalchemy", "webob"},
    "insight.audit.live_sources": {"openstack", "keystoneauth1"},
    "insight.nova_lists": {"openstack"},
    "insight.audit.nova": {"openstack", "keystoneauth1"},
    "insight.capacity.flavors": {"openstack", "keystoneauth1", "osc_lib"},
    "cli": {"cliff", "osc_lib", "osc_placement", "keystoneauth1"},
}
