"""[insight]: what operators see beside the Placement API."""

from oslo_config import cfg

group = cfg.OptGroup("insight", title="Insight", help="Explanations, records and the dashboard.")
options = [
    cfg.BoolOpt(
        "page",
        default=False,
        help="""
Serve the dashboard at ``/insight/page/``.

Its files are served without authentication; they hold no data of the cloud. The routes that the
page reads need the same credentials as always. With Keystone, ``openstack placement dashboard``
serves the page on the loopback address with the credentials of the operator; behind an
authenticating proxy, set this option.
""",
    ),
]
