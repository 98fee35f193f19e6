"""What each package may import; the documentation shows these rules as a table."""

# What a package may import, of ours and of other libraries besides the standard one. The most
# specific entry counts. A package that is not here may import anything: it is at the edge.
_VALUES = {"core", "exception"}
_TABLES = {"db.tables", "db.errors", "db.settings", "db.writes", "db.grouped_rows"}
_CLOCKS = {*_VALUES, *_TABLES, "db.connections", "db.clocks"}
_TRANSACTION = {*_CLOCKS, "db.resources", "db.claims", "db.snapshot"}
_STORE = {*_TRANSACTION, "db.transaction", "db.usage_counters", "db.store"}

INTERNAL = {
    "exception": {"exception"},
    "microversion": {"exception"},
    "errors": {"exception"},
    "events": set(),
    "terminal": {"core.text"},
    "surface": set(),
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
    "conf": {"conf", "surface"},
    "policies": {"policies", "surface"},
    "policy": {"policy", "policies", "conf", "exception"},
    "db": _STORE,
    "db.tables": set(),
    "db.errors": {"exception", "db.tables"},
    "db.settings": set(),
    "db.grouped_rows": {"exception"},
    "db.writes": {"db.writes", "db.errors", "db.connections.messages"},
    "db.connections.messages": set(),
    "db.connections": {*_TABLES, "db.connections", "exception"},
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
        *("profiling", "surface", "policies"),
    },
    "handlers": {
        *("handlers", "http", "objects", "parse", "render", "policies", "microversion", "core"),
        "events",
    },
}
EXTERNAL = {
    "exception": set(),
    "microversion": set(),
    "errors": set(),
    "events": set(),
    "terminal": set(),
    "surface": {"oslo_config", "oslo_policy"},
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
}
