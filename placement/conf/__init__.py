"""The options of the service, registered on a configuration object that the caller owns.

They are read where the parts are put together (``placement.deploy``, ``placement.cmd``), and
handed on as plain values.
"""

from oslo_config import cfg
from oslo_middleware import cors

from placement.conf import (
    api,
    base,
    database,
    healthcheck,
    metrics,
    paths,
    placement,
    workarounds,
)

MODULES = (paths, base, api, placement, database, healthcheck, metrics, workarounds)


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register every option of ours.

    Groups are registered by name: configurations share what is set in a group that is one object.
    """
    for module in MODULES:
        conf.register_opts(module.options, group=module.group and module.group.name)


def set_middleware_defaults() -> None:
    """Let browsers send and see the headers of this service, once [cors]allowed_origin is set.

    The defaults of oslo.middleware are those of the process, not of a configuration object.
    """
    cors.set_defaults(
        allow_headers=[
            "X-Auth-Token",
            "X-Openstack-Request-Id",
            "X-Identity-Status",
            "X-Roles",
            "X-Service-Catalog",
            "X-User-Id",
            "X-Tenant-Id",
            "OpenStack-API-Version",
        ],
        expose_headers=[
            "X-Auth-Token",
            "X-Openstack-Request-Id",
            "X-Subject-Token",
            "X-Service-Token",
            "OpenStack-API-Version",
        ],
        allow_methods=["GET", "PUT", "POST", "DELETE", "PATCH"],
    )
