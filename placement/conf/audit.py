"""Options of [audit]: events (CADF) of keystonemiddleware."""

from oslo_config import cfg

group = cfg.OptGroup("audit", title="Audit", help="Audit events of requests.")
options = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        help="""
Write two events (CADF) for each authenticated request: when it arrives, and its outcome.

They are sent by oslo.messaging if it is installed and
``[audit_middleware_notifications]use_oslo_messaging`` is true; else they are log lines of the
logger ``placement.audit``.
""",
    ),
    cfg.StrOpt(
        "audit_map_file",
        default="/etc/placement/api_audit_map.conf",
        help="The file that maps paths to the types of resources. A sample is in "
        "``etc/placement``.",
    ),
    cfg.StrOpt(
        "ignore_req_list",
        default="GET",
        help="Comma-separated methods of requests that have no events. If empty, each request "
        "has events.",
    ),
]
