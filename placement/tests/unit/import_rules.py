"""What each package may import; the documentation shows these rules as a table."""

# What a package may import, of ours and of other libraries besides the standard one. The most
# specific entry counts. A package that is not here may import anything: it is at the edge.
INTERNAL = {
    "core": {"core", "exception"},
    "parse": {"parse", "core", "schemas", "microversion", "exception"},
    "render": {"render", "core", "schemas", "microversion", "exception"},
    "schemas": {"schemas", "core"},
    "objects": {"objects", "core", "db", "exception"},
    "engine": {
        "engine",
        "core",
        "db",
        "observability.events",
        "exception",
        "garbage_collection",
    },
    "db": {"db", "core", "exception"},
    "insight": {"insight", "core", "render", "db", "policies", "exception"},
    "policies": {"policies"},
    "cli": {
        *("cli", "core", "live", "render", "dashboard"),
        *("cmd.durable_file", "cmd.standard_output"),
    },
    "live": {"live", "core"},
    "compare": {"compare"},
    "conf": {"conf"},
    "exception": {"exception"},
    "microversion": {"exception"},
    "errors": {"exception"},
    "http.request_body": {"exception", "core.storable_text"},
    "observability.events": set(),
    "handlers": {
        *("handlers", "parse", "render", "objects", "engine", "core"),
        *("observability", "policies", "microversion", "wsgi_wrapper", "exception", "insight"),
    },
}
EXTERNAL = {
    "core": {"numpy"},
    "parse": {"jsonschema"},
    "render": set(),
    "schemas": {"jsonschema"},
    "objects": set(),
    "engine": set(),
    "insight": set(),
    "exception": set(),
    "microversion": set(),
    "errors": set(),
    "http.request_body": {"_typeshed"},
    "observability.events": set(),
    "db": {"sqlalchemy", "alembic", "os_traits", "os_resource_classes"},
    "handlers": {"webob"},
    "policies": {"oslo_policy"},
    "cli": {"cliff", "osc_lib", "osc_placement", "keystoneauth1", "cheroot"},
    "live": {"openstack", "keystoneauth1"},
    "compare": set(),
    "conf": {"oslo_config", "oslo_middleware", "oslo_policy"},
}
