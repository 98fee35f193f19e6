"""The configuration options, registered on a configuration object that the caller owns.

``placement.deploy`` and ``placement.cmd`` read them and pass them on as plain values.
"""

from collections.abc import Sequence

from oslo_config import cfg
from oslo_middleware import cors
from oslo_policy import opts as policy_opts

from placement import surface
from placement.conf import api, audit, base, database, metrics, placement

# The default of oslo.policy, 60, would occupy a thread of the server for a minute.
POLICY_TIMEOUT_SECONDS = 5.0

GROUPS: Sequence[tuple[cfg.OptGroup | None, Sequence[cfg.Opt]]] = (
    *((module.group, module.options) for module in (base, api, audit, placement, database)),
    (metrics.healthcheck_group, metrics.healthcheck),
    (metrics.group, metrics.options),
    (placement.workarounds_group, placement.workarounds),
)
"""The options of the service by group, without those of the add-on."""


def all_groups() -> Sequence[tuple[cfg.OptGroup | None, Sequence[cfg.Opt]]]:
    """Return all options of the service and of the add-on by group."""
    return (*GROUPS, *surface.installed().options())


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register all options of the service.

    This includes the options of oslo.policy, which other projects read after parsing.

    Groups are registered by name: a group object would share its values between configurations.
    """
    policy_opts.set_defaults(conf)
    conf.set_default("remote_timeout", POLICY_TIMEOUT_SECONDS, group="oslo_policy")
    for group, options in all_groups():
        conf.register_opts(options, group=group and group.name)


def set_middleware_defaults() -> None:
    """Set the CORS defaults for the headers of this service, used if [cors]allowed_origin is set.

    oslo.middleware keeps these defaults per process, not per configuration object.
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
